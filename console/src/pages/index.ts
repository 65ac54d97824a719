/** The pages that few look at. */
export { AuditPage } from "./audit";
export { SettingsPage } from "./settings";
