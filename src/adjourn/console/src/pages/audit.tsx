export function AuditPage() {
  return <main><h1>Audit</h1></main>;
}
