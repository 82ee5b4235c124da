import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

/** A screen's heading and its page's title. It takes the focus when the user enters the screen. */
export function Title({
  text,
  children,
}: {
  readonly text: string;
  readonly children?: ComponentChildren;
}): preact.JSX.Element {
  useEffect(() => {
    document.title = `${text} · Unseen`;
  }, [text]);
  return <h1 tabIndex={-1}>{children ?? text}</h1>;
}
