import { useRef, useState } from 'preact/hooks';
import { Button } from './button.js';

const SAID_MS = 2_000;

/** A text for another program, and the button that copies it. */
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
      // There is none where a page does not come over HTTPS.
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
