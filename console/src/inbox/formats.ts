/** The formats of strings. They come with the controls, and are then checked wherever a value is. */
import { formats } from "./faults";

const CLOCK = "([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,9})?)?([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)?";
const DATE = "\\d{4}-\\d\\d-\\d\\d";
const NAME = '[^\\s@<>()\\[\\],;:"\\\\';
const LABEL = "[A-Za-z\\d]([A-Za-z\\d-]{0,61}[A-Za-z\\d])?";
const BYTE = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
/** The formats that are checked here and by the server, by the same cases; with an example. */
const FORMATS: Record<string, [pattern: string, words: string]> = {
  date: [DATE, "A date such as 2031-01-31."],
  time: [CLOCK, "A time such as 14:30."],
  "date-time": [`${DATE}[Tt ]${CLOCK}`, "A date and a time."],
  email: [`${NAME}]{1,64}@${NAME}.]+(\\.${NAME}.]+)+`, "An e-mail address such as ana@example.com."],
  uri: ["[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\\[\\]_a-z~%]+", "An address such as https://example.com."],
  uuid: ["[\\da-fA-F]{8}(-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}", "A UUID."],
  ipv4: [`${BYTE}(\\.${BYTE}){3}`, "An IPv4 address such as 192.0.2.1."],
  ipv6: ["[\\da-fA-F:.]{2,45}", "An IPv6 address such as 2001:db8::1."],
  hostname: [`(?=.{1,253}$)${LABEL}(\\.${LABEL})*`, "The name of a host such as mail.example.com."],
  duration: ["P(?=[\\dT])(\\d{1,9}Y)?(\\d{1,9}M)?(\\d{1,9}W)?(\\d{1,9}D)?(T(?=\\d)(\\d{1,9}H)?(\\d{1,9}M)?(\\d{1,9}(\\.\\d{1,9})?S)?)?", "A length of time such as 45 minutes."],
};

/** What a string must be, in words; "" if it is, or if the format is not checked here. */
export function formatFault(format: string, value: string): string {
  const known = FORMATS[format];
  if (!known) return "";
  const day = format.startsWith("date") ? new Date(`${value.slice(0, 10)}T00:00Z`) : null;
  const real = !day || (!Number.isNaN(+day) && day.toISOString().startsWith(value.slice(0, 10)));
  const fits = real && new RegExp(`^(?:${known[0]})$`).test(value);
  return fits && (format !== "ipv6" || URL.canParse(`http://[${value}]`)) ? "" : known[1];
}

formats.fault = formatFault;
