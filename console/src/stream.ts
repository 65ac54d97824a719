/** The shared worker: one for all tabs. `PROTOCOL` in its name changes when tabs and worker would no longer understand each other. */
import { StreamHub, type FromTab, type Tab } from "./stream_hub";

const scope = globalThis as unknown as { onconnect: ((e: MessageEvent) => void) | null; location: Location };
const hub = new StreamHub(new URL("api/v1/events", scope.location.href).href);

scope.onconnect = (e) => {
  const port = e.ports[0];
  if (!port) return;
  const tab: Tab = { tell: (message) => port.postMessage(message) };
  port.onmessage = (said: MessageEvent<FromTab>) => hub.hear(tab, said.data);
};
