export function RunPage({ id }: { id: string }) {
  return <main><h1>{id}</h1></main>;
}
