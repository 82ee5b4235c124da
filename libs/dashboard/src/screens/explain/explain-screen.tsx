import { useLayoutEffect, useState } from 'preact/hooks';
import { hashOf, place, setQuery } from '../../router.js';
import { may } from '../../session.js';
import type { Kind } from '../../sets.js';
import { Button } from '../../ui/button.js';
import { Crumbs } from '../../ui/crumbs.js';
import { Field } from '../../ui/field.js';
import { Notice } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { Explained } from './explained.js';

/** Explains the answer for a URL or an item. The address contains the URL or item, so users can link to it. */
export function ExplainScreen({
  kind,
  name,
}: {
  readonly kind: Kind;
  readonly name: string;
}): preact.JSX.Element {
  const asked = place.value.query.get('item') ?? '';
  return (
    <>
      <Crumbs kind={kind} name={name}>
        {' / '}
        <a href={hashOf([kind, name, 'use'])}>{kind === 'sets' ? 'URLs' : 'Items'}</a>
      </Crumbs>
      <div class="head">
        <Title text={`Explain an answer from ${name}`} />
      </div>
      {may('admin') ? (
        <>
          <AskForm asked={asked} label={kind === 'sets' ? 'The URL' : 'The item'} />
          {asked !== '' && <Explained key={asked} kind={kind} name={name} item={asked} />}
        </>
      ) : (
        <Notice>
          An explanation shows where items are stored, so you need a key with the scope “admin”.
        </Notice>
      )}
    </>
  );
}

function AskForm({ asked, label }: { readonly asked: string; readonly label: string }): preact.JSX.Element {
  const [text, setText] = useState(asked);
  // Copies an address changed by a link or the back button into the field. Keeps the field element, because it has the
  // focus. An effect after paint would overwrite text that the user is typing.
  useLayoutEffect(() => setText(asked), [asked]);
  const submit = (event: Event): void => {
    event.preventDefault();
    setQuery({ item: text });
  };
  return (
    <form class="ask" onSubmit={submit}>
      <Field label={label}>
        {(props) => (
          <input
            {...props}
            type="text"
            spellcheck={false}
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      <Button type="submit" look="primary" disabled={text === ''}>
        Explain
      </Button>
    </form>
  );
}
