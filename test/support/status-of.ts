/** The status of an answer that is read to its end: one that nobody reads holds its connection, and that the process. */
export async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const answer = await fetch(url, init);
  await answer.arrayBuffer();
  return answer.status;
}
