/** A style as text. */
declare module "*.late.css" {
  const text: string;
  export default text;
}
