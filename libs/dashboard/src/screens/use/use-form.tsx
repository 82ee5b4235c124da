import { useMemo, useState } from 'preact/hooks';
import { plural } from '../../format.js';
import { begin } from '../../jobs/current-job.js';
import { filesOf, ListInput, NOTHING, type Given } from '../../lines/list-input.js';
import type { Kind } from '../../sets.js';
import { Button } from '../../ui/button.js';
import { Choice } from '../../ui/field.js';
import type { UseAction } from './actions.js';
import { TakeOutDialog } from './take-out-dialog.js';

interface FormProps {
  readonly kind: Kind;
  readonly name: string;
  readonly errorRate: number;
  /** At least one. */
  readonly actions: readonly UseAction[];
}

/** The form for an action and its input list. */
export function UseForm({ kind, name, errorRate, actions }: FormProps): preact.JSX.Element {
  const [id, setId] = useState(actions[0]?.id ?? 'check');
  const [given, setGiven] = useState(NOTHING);
  const [asking, setAsking] = useState(false);
  const lines = useMemo(() => countOf(given), [given]);
  const action = actions.find((one) => one.id === id) ?? actions[0];
  const unit = kind === 'sets' ? 'URL' : 'item';
  const what = lines === undefined ? 'the list' : plural(lines, unit);
  const run = (): void => {
    if (action) begin({ subject: { kind, name }, action, files: filesOf(given), format: given.format });
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (action?.takesOut === true && lines !== 1) setAsking(true);
    else run();
  };
  return (
    <form class="panel" onSubmit={submit}>
      {actions.length > 1 && (
        <Choice
          legend="Action"
          hidden
          value={action?.id ?? 'check'}
          options={actions.map((one) => [one.id, one.text] as const)}
          onChange={setId}
        />
      )}
      <p class="hint">{action?.hint}</p>
      <ListInput
        label={kind === 'sets' ? 'URLs, one per line' : 'Items, one per line'}
        given={given}
        onChange={setGiven}
        {...(kind === 'sets' && { placeholder: 'https://example.org/' })}
      />
      <div class="actions">
        <Button type="submit" look="primary" disabled={lines === 0}>
          {action?.text} {lines === 0 ? `${unit}s` : what}
        </Button>
      </div>
      {asking && action && (
        <TakeOutDialog
          action={action}
          name={name}
          what={what}
          errorRate={errorRate}
          queues={kind === 'sets'}
          onClose={() => setAsking(false)}
          onConfirm={run}
        />
      )}
    </form>
  );
}

/** undefined for files, because their lines aren't counted before they are read. */
function countOf({ text, files }: Given): number | undefined {
  if (files.length > 0) return undefined;
  return text.split('\n').filter((line) => line.trim() !== '').length;
}
