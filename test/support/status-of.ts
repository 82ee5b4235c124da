/**
 * The status of an answer, which is read to its end: an unread answer would hold its connection, and so the process.
 */
export async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const answer = await fetch(url, init);
  await answer.arrayBuffer();
  return answer.status;
}
