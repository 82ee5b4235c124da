import { oneIn } from '../../format.js';
import { share } from '../../parse.js';
import { prefix } from '../../session.js';
import { Check, Choice, Field } from '../../ui/field.js';
import { HOST_LIMITS, RULES, UNIT_SECONDS, type Faults, type Form } from './form.js';

interface FieldsProps {
  readonly form: Form;
  readonly faults: Faults;
  readonly change: (changes: Partial<Form>) => void;
}

/** The fields of both kinds. */
export function SizeFields({ form, faults, change }: FieldsProps): preact.JSX.Element {
  const rate = share(form.errorRate);
  const begins = prefix.value === '' ? '' : ` Your key allows only names that begin with “${prefix.value}”.`;
  return (
    <>
      <Field label="Name" hint={`A-Z, a-z, 0-9, “.”, “_”, “:” and “-”.${begins}`} error={faults.name}>
        {(props) => (
          <input
            {...props}
            name="name"
            autocomplete="off"
            spellcheck={false}
            maxLength={64}
            value={form.name}
            onInput={(event) => change({ name: event.currentTarget.value })}
          />
        )}
      </Field>
      <div class="pair">
        <Field label="Capacity" hint="Number of items that it is sized for" error={faults.capacity}>
          {(props) => (
            <input
              {...props}
              name="capacity"
              inputMode="text"
              value={form.capacity}
              onInput={(event) => change({ capacity: event.currentTarget.value })}
            />
          )}
        </Field>
        <Field
          label="Error rate"
          hint={rate > 0 ? `${oneIn(rate)} new items is reported as seen` : undefined}
          error={faults.errorRate}
        >
          {(props) => (
            <input
              {...props}
              name="errorRate"
              value={form.errorRate}
              onInput={(event) => change({ errorRate: event.currentTarget.value })}
            />
          )}
        </Field>
      </div>
      <Check
        label="Grow when full"
        hint="It adds layers, each 2.7 times as large as the last. Otherwise, it refuses items at twice its capacity."
        checked={form.grows}
        onChange={(grows) => change({ grows })}
      />
    </>
  );
}

export function SetFields({ form, faults, change }: FieldsProps): preact.JSX.Element {
  return (
    <>
      <div class="pair">
        <Field
          label="Forget after"
          hint="URLs not visited for this long are new again. Empty: never"
          error={faults.maxAgeSeconds}
        >
          {(props) => (
            <span class="joined">
              <input
                {...props}
                name="maxAgeSeconds"
                inputMode="decimal"
                placeholder="never"
                value={form.maxAge}
                onInput={(event) => change({ maxAge: event.currentTarget.value })}
              />
              <select
                aria-label="Age unit"
                value={form.maxAgeUnit}
                onChange={(event) => change({ maxAgeUnit: event.currentTarget.value as Form['maxAgeUnit'] })}
              >
                {Object.keys(UNIT_SECONDS).map((unit) => (
                  <option key={unit} value={unit}>
                    {unit}
                  </option>
                ))}
              </select>
            </span>
          )}
        </Field>
        <Field
          label="Attempts"
          hint="After this many leases, a URL becomes a dead letter. Empty: no limit"
          error={faults.maxAttempts}
        >
          {(props) => (
            <input
              {...props}
              name="maxAttempts"
              inputMode="numeric"
              placeholder="no limit"
              value={form.maxAttempts}
              onInput={(event) => change({ maxAttempts: event.currentTarget.value })}
            />
          )}
        </Field>
      </div>
      {form.grows && <HostFields form={form} faults={faults} change={change} />}
      <Choice
        legend="URL identity"
        value={form.base}
        options={[
          ['safe', 'Safe'],
          ['strict', 'Strict'],
        ]}
        onChange={(base) => change({ base })}
      />
      <fieldset class="checks">
        <legend class="unseen">More rules</legend>
        {RULES.map(([rule, label, hint]) => (
          <Check
            key={rule}
            label={label}
            {...(hint !== undefined && { hint })}
            checked={form.rules.includes(rule)}
            onChange={(on) =>
              change({ rules: on ? [...form.rules, rule] : form.rules.filter((other) => other !== rule) })
            }
          />
        ))}
      </fieldset>
      <p class="hint">
        Safe sorts parameters and drops empty ones. Strict does neither. You can’t change these settings
        later.
      </p>
    </>
  );
}

function HostFields({ form, faults, change }: FieldsProps): preact.JSX.Element {
  const { byHost, perHost } = form;
  return (
    <>
      <Check
        label="Take turns between hosts"
        hint="Workers get URLs from different hosts in turn. All workers share the limits."
        checked={byHost}
        onChange={(on) => change({ byHost: on })}
      />
      {byHost && (
        <div class="pair">
          {HOST_LIMITS.map(([limit, label, hint, empty]) => (
            <Field key={limit} label={label} hint={hint} error={faults[`perHost/${limit}`]}>
              {(props) => (
                <input
                  {...props}
                  name={limit}
                  inputMode="numeric"
                  placeholder={empty}
                  value={perHost[limit]}
                  onInput={(event) => change({ perHost: { ...perHost, [limit]: event.currentTarget.value } })}
                />
              )}
            </Field>
          ))}
        </div>
      )}
    </>
  );
}

export function FilterFields({ form, change }: Omit<FieldsProps, 'faults'>): preact.JSX.Element {
  return (
    <>
      <Choice
        legend="Cells"
        value={form.type}
        options={[
          ['counting', 'Counters: items can be removed'],
          ['standard', 'Bits: a quarter of the memory'],
        ]}
        onChange={(type) => change({ type })}
      />
      {form.type === 'counting' && (
        <Choice
          legend="Repeated adds of an item"
          value={form.semantics}
          options={[
            ['set', 'have no effect'],
            ['multiset', 'are counted'],
          ]}
          onChange={(semantics) => change({ semantics })}
        />
      )}
    </>
  );
}
