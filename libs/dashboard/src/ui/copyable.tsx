import { useRef, useState } from 'preact/hooks';
import { Button } from './button.js';

const SAID_MS = 2_000;

/** A text to paste into another program, with a copy button. */
export function Copyable({
  text,
  label,
}: {
  readonly text: string;
  readonly label: string;
}): preact.JSX.Element {
  const code = useRef<HTMLElement>(null);
  const [said, setSaid] = useState('');
  const copy = async (): Promise<void> => {
    try {
      // Pages without HTTPS have no clipboard.
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      if (code.current) getSelection()?.selectAllChildren(code.current);
      setSaid('Selected');
    }
    setTimeout(() => setSaid(''), SAID_MS);
  };
  const word = said === '' ? 'Copy' : said;
  return (
    <div class="copyable">
      <code ref={code} tabIndex={0} role="group" aria-label={label}>
        {text}
      </code>
      <Button label={`${word}: ${label}`} onClick={() => void copy()}>
        {word}
      </Button>
      <span class="unseen" role="status">
        {said}
      </span>
    </div>
  );
}
