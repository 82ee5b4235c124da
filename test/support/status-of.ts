/**
 * Returns a response's status and reads its body, because an unread body would keep the connection and the process
 * alive.
 */
export async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const answer = await fetch(url, init);
  await answer.arrayBuffer();
  return answer.status;
}
