import {
  MAX_METADATA_LENGTH,
  MAX_METADATA_NAME_LENGTH,
  MAX_METADATA_NAMES,
  METADATA_NAME,
} from '@licet/contract/limits';
import { useRef, useState } from 'react';
import type { Metadata } from '../metadata.ts';
import { screenTexts } from '../screen-texts.ts';
import { Button, IconButton } from './button.tsx';
import { FieldGroup, focusSoon, TextField } from './form.tsx';
import { Plus, X } from './icons.tsx';

const words = screenTexts.metadata;

const NAME = 'metadata name ';
const TEXT = 'metadata text ';
const ADD = 'metadata add';

/** The metadata in a form. */
export const metadataOf = (data: FormData): Metadata =>
  Object.fromEntries(
    [...data.keys()].flatMap((key) => {
      if (!key.startsWith(NAME)) return [];
      const name = String(data.get(key)).trim();
      const text = String(data.get(key.replace(NAME, TEXT)) ?? '').trim();
      return text === '' ? [] : [[name, text]];
    }),
  );

interface Row {
  key: number;
  name: string;
  text: string;
}

/** The texts of metadata: a row for each, with its name. */
export function MetadataField({
  stored = {},
  isCard = false,
}: {
  stored?: Metadata | undefined;
  isCard?: boolean;
}) {
  const [rows, setRows] = useState<readonly Row[]>(() =>
    Object.entries(stored).map(([name, text], key) => ({ key, name, text })),
  );
  const next = useRef(rows.length);
  const addRow = (): void => {
    const key = next.current++;
    setRows([...rows, { key, name: '', text: '' }]);
    focusSoon(`${NAME}${key}`);
  };
  const remove = (key: number): void => {
    setRows(rows.filter((row) => row.key !== key));
    focusSoon(ADD);
  };
  const change = (changed: Row): void =>
    setRows(rows.map((row) => (row.key === changed.key ? changed : row)));
  const faultOf = ({ name, key }: Row): string | undefined => {
    if (name !== '' && !METADATA_NAME.test(name.trim())) return words.wrongName;
    const isTwice = rows.some((row) => row.key < key && row.name.trim() === name.trim());
    return name !== '' && isTwice ? words.twice : undefined;
  };
  return (
    <FieldGroup title={words.title} isCard={isCard}>
      <p className="text-xs text-muted sm:col-span-2">{words.hint}</p>
      {rows.map((row) => (
        <div
          key={row.key}
          className="grid min-w-0 grid-cols-[minmax(0,1fr)_auto] items-start gap-2 sm:col-span-2 sm:grid-cols-[minmax(0,1fr)_minmax(0,2fr)_auto]"
        >
          <div className="max-sm:col-span-2">
            <TextField
              label={words.name}
              name={`${NAME}${row.key}`}
              value={row.name}
              required={row.text !== ''}
              maxLength={MAX_METADATA_NAME_LENGTH}
              spellCheck="false"
              autoCapitalize="none"
              error={faultOf(row)}
              ref={(input) => input?.setCustomValidity(faultOf(row) ?? '')}
              onChange={({ target }) => change({ ...row, name: target.value })}
            />
          </div>
          <TextField
            label={words.text}
            name={`${TEXT}${row.key}`}
            value={row.text}
            required={row.name !== ''}
            pattern=".*\S.*"
            maxLength={MAX_METADATA_LENGTH}
            onChange={({ target }) => change({ ...row, text: target.value })}
          />
          <IconButton
            label={words.remove(row.name)}
            className="mt-6.5"
            onClick={() => remove(row.key)}
          >
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      ))}
      {rows.length < MAX_METADATA_NAMES && (
        <div className="sm:col-span-2">
          <Button name={ADD} onClick={addRow}>
            <Plus size={16} aria-hidden />
            {words.add}
          </Button>
        </div>
      )}
    </FieldGroup>
  );
}
