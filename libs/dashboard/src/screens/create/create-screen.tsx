import { ServiceError } from '#client';
import { useState } from 'preact/hooks';
import { useLeaving } from '../../leaving.js';
import { goTo, hashOf, place } from '../../router.js';
import { client, may, prefix } from '../../session.js';
import { KIND_NAMES } from '../../sets.js';
import { Button } from '../../ui/button.js';
import { Crumbs } from '../../ui/crumbs.js';
import { Choice, useFaults } from '../../ui/field.js';
import { Failure, Notice } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { FilterFields, SetFields, SizeFields } from './fields.js';
import { EMPTY, faultsOf, filterOf, HOST_LIMITS, setOf, type Faults, type Form } from './form.js';
import { PlanPanel } from './plan-panel.js';

const KINDS = [
  ['sets', 'Visited set, for URLs'],
  ['filters', 'Filter, for any strings'],
] as const;

/** Creates a visited set or a filter, and shows its size while the user fills in the form. */
export function CreateScreen(): preact.JSX.Element {
  const [form, setForm] = useState<Form>(() => ({
    ...EMPTY,
    kind: place.peek().query.get('kind') === 'filters' ? 'filters' : 'sets',
    name: prefix.peek(),
  }));
  const [refused, setRefused] = useState<{ readonly error: Error; readonly form: Form }>();
  const [making, setMaking] = useState(false);
  const [tried, setTried] = useState(false);
  const [formRef, showFaults] = useFaults();
  const leaving = useLeaving();
  // A refusal stays visible until the form changes.
  const error = refused?.form === form ? refused.error : undefined;
  const faults: Faults = {
    ...faultsOf(form, tried),
    ...(error && faultsIn(error)),
  };
  const change = (changes: Partial<Form>): void => setForm((old) => ({ ...old, ...changes }));
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(faultsOf(form, true)).length > 0) {
      showFaults();
      return;
    }
    setMaking(true);
    try {
      if (form.kind === 'sets') await client.value.visitedSet(form.name).create(setOf(form));
      else await client.value.filter(form.name).create(filterOf(form));
      // If the user has left the screen in the meantime, don't navigate away.
      if (!leaving.aborted) goTo(hashOf([form.kind, form.name]));
    } catch (thrown) {
      setRefused({ error: thrown as Error, form });
      showFaults();
    }
    setMaking(false);
  };
  return (
    <>
      <Crumbs />
      <Title text="New" />
      {!may('admin') && <Notice tone="warn">To create one, you need a key with the scope “admin”.</Notice>}
      <div class="split">
        <form ref={formRef} class="panel" onSubmit={(event) => void submit(event)} noValidate>
          <Choice legend="What" value={form.kind} options={KINDS} onChange={(kind) => change({ kind })} />
          <SizeFields form={form} faults={faults} change={change} />
          {form.kind === 'sets' ? (
            <SetFields form={form} faults={faults} change={change} />
          ) : (
            <FilterFields form={form} change={change} />
          )}
          {error && Object.keys(faultsIn(error)).length === 0 && (
            <Failure
              error={error}
              what={`The ${KIND_NAMES[form.kind]} was not created`}
              unsure="Creation status unknown"
            />
          )}
          <div class="actions">
            <Button type="submit" look="primary" needs="admin" disabled={making}>
              {making ? 'Creating …' : form.kind === 'sets' ? 'Create the visited set' : 'Create the filter'}
            </Button>
          </div>
        </form>
        <PlanPanel form={form} />
      </div>
    </>
  );
}

/** The faults that the service reports, by form member. */
function faultsIn(error: Error): Faults {
  if (!(error instanceof ServiceError)) return {};
  if (error.code === 'FILTER_EXISTS') return { name: 'This name is already taken; choose another' };
  const known = error.errors.flatMap(({ pointer, detail }) => {
    const [, member = ''] = /^#\/([\w/]+)$/.exec(pointer) ?? [];
    return FIELDS.has(member) ? [[member, detail]] : [];
  });
  return Object.fromEntries(known) as Faults;
}

const FIELDS: ReadonlySet<string> = new Set([
  'name',
  'capacity',
  'errorRate',
  'maxAgeSeconds',
  'maxAttempts',
  ...HOST_LIMITS.map(([limit]) => `perHost/${limit}`),
]);
