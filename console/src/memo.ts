/** A component that is drawn again only when its properties change (or a signal that it reads). */
import { Component, h, type FunctionComponent } from "preact";

export function memo<P extends object>(Inner: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const [a, b] = [this.props as Record<string, unknown>, next as Record<string, unknown>];
      const keys = Object.keys(b);
      return keys.length !== Object.keys(a).length || keys.some((k) => !Object.is(a[k], b[k]));
    }
    override render() {
      return h(Inner, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
