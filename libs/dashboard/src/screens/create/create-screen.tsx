export function CreateScreen(): preact.JSX.Element {
  return <p>soon</p>;
}
