import { useId, useRef, useState } from 'preact/hooks';
import { bytes, plural } from '../format.js';
import { Button } from '../ui/button.js';
import { Choice, Field } from '../ui/field.js';
import type { Format } from './lines.js';

/** A user's input list: text or files. */
export interface Given {
  readonly text: string;
  readonly files: readonly File[];
  readonly format: Format;
}

/** The empty input list. */
export const NOTHING: Given = { text: '', files: [], format: 'auto' };

/** The files for linesOf. Files replace the text. */
export function filesOf({ text, files }: Given): readonly Blob[] {
  if (files.length > 0) return files;
  return text.trim() === '' ? [] : [new Blob([text])];
}

const FORMATS = [
  ['auto', 'Detect'],
  ['text', 'One per line'],
  ['ndjson', 'NDJSON'],
] as const;

/** Takes an input list that the user types, pastes, or drops or chooses as files. */
export function ListInput({
  label,
  given,
  onChange,
  placeholder,
}: {
  readonly label: string;
  readonly given: Given;
  readonly onChange: (given: Given) => void;
  readonly placeholder?: string;
}): preact.JSX.Element {
  const { text, files, format } = given;
  return (
    <div class="list-input">
      {files.length === 0 && (
        <Field label={label}>
          {(props) => (
            <textarea
              {...props}
              rows={6}
              spellcheck={false}
              placeholder={placeholder}
              value={text}
              onInput={(event) => onChange({ ...given, text: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      {files.length > 0 && <Files files={files} onChange={(left) => onChange({ ...given, files: left })} />}
      <FileDrop
        label={files.length === 0 ? 'Or drop files here' : 'Drop more files here'}
        hint="Plain text or NDJSON, optionally gzipped. The browser reads files in small parts."
        multiple
        onFiles={(more) => onChange({ ...given, files: [...files, ...more] })}
      />
      {(files.length > 0 || text !== '') && (
        <Choice
          legend="Format of the lines"
          value={format}
          options={FORMATS}
          onChange={(chosen) => onChange({ ...given, format: chosen })}
        />
      )}
    </div>
  );
}

function Files({
  files,
  onChange,
}: {
  readonly files: readonly File[];
  readonly onChange: (files: readonly File[]) => void;
}): preact.JSX.Element {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return (
    <div class="files">
      <h3>
        {plural(files.length, 'file')}, {bytes(size)}
      </h3>
      <ul>
        {files.map((file) => (
          <li key={file}>
            <span>
              {file.name} <small>{bytes(file.size)}</small>
            </span>
            <Button
              look="quiet"
              label={`Remove ${file.name}`}
              onClick={() => onChange(files.filter((other) => other !== file))}
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A drop area for files, which is also the button to choose them. */
export function FileDrop({
  label,
  hint,
  multiple = false,
  onFiles,
}: {
  readonly label: string;
  readonly hint: string;
  readonly multiple?: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}): preact.JSX.Element {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = (list: FileList | null | undefined): void => {
    const files = [...(list ?? [])];
    if (files.length > 0) onFiles(multiple ? files : files.slice(0, 1));
    // Without this, the user could not choose the same file again.
    if (input.current) input.current.value = '';
  };
  return (
    <div
      class={`drop${over ? ' over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer?.files);
      }}
    >
      <label for={id}>{label}</label>
      <input
        ref={input}
        id={id}
        type="file"
        multiple={multiple}
        aria-describedby={`${id}-hint`}
        onChange={(event) => take(event.currentTarget.files)}
      />
      <p id={`${id}-hint`} class="hint">
        {hint}
      </p>
    </div>
  );
}
