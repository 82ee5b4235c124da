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

/** Asks before many are taken out, and says what no counting filter can promise (G8). */
export function TakeOutDialog(props: DialogProps): preact.JSX.Element {
  const { action, name, what, errorRate, queues, onClose, onConfirm } = props;
  const one = queues ? 'a URL' : 'an item';
  return (
    <Dialog title={`${action.text} ${what} of ${name}?`} onClose={onClose}>
      <p>This cannot be undone.{queues && ' What of it waits in the queue is not fetched any more.'}</p>
      <p>
        Take out only what was added. Of others, {oneIn(errorRate)} looks as if it had been. To take out such{' '}
        {one} takes away from those that were, which may be told unseen afterwards.
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
