export function RunsPage() {
  return <main><h1>Runs</h1></main>;
}
