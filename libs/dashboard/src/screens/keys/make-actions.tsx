import { Button } from '../../ui/button.js';
import { Failure } from '../../ui/notice.js';

/** The end of a form that creates a key: the error, the cancel button, and the submit button. */
export function MakeActions({
  verb,
  working,
  error,
  onClose,
}: {
  readonly verb: string;
  readonly working: boolean;
  readonly error: Error | undefined;
  readonly onClose: () => void;
}): preact.JSX.Element {
  return (
    <>
      {error && (
        <Failure
          error={error}
          what="No key was created"
          unsure="Creation status unknown: check the list for a new key"
        />
      )}
      <div class="actions">
        <Button onClick={onClose} disabled={working}>
          Cancel
        </Button>
        <Button type="submit" look="primary" disabled={working}>
          {verb}
        </Button>
      </div>
    </>
  );
}
