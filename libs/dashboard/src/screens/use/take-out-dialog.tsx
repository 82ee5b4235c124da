import { oneIn } from '../../format.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import type { UseAction } from './actions.js';

interface DialogProps {
  readonly action: UseAction;
  readonly name: string;
  /** Such as "3 URLs". */
  readonly what: string;
  readonly errorRate: number;
  readonly queues: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

/** Asks before removing many items, and explains the limits of a counting filter (G8). */
export function TakeOutDialog(props: DialogProps): preact.JSX.Element {
  const { action, name, what, errorRate, queues, onClose, onConfirm } = props;
  const one = queues ? 'a URL' : 'an item';
  return (
    <Dialog title={`${action.text} ${what} of ${name}?`} onClose={onClose}>
      <p>You can’t undo this.{queues && ' URLs that wait in the queue also leave it.'}</p>
      <p>
        {action.text} only {queues ? 'URLs' : 'items'} that were added. {oneIn(errorRate)} of all others looks
        as if it had been added. If you {action.text.toLowerCase()} such {one}, others that were added may be
        reported as unseen.
      </p>
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="danger"
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {action.text} {what}
        </Button>
      </div>
    </Dialog>
  );
}
