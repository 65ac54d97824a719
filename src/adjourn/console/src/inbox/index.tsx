/** What waits for a person. */

export function InboxPage() {
  return (
    <main>
      <h1>Inbox</h1>
    </main>
  );
}
