import type { License, Product } from '@licet/client';
import {
  ENTITLEMENT_NAME,
  ENTITLEMENT_TEXT,
  MAX_ENTITLEMENTS,
  RESERVED_ENTITLEMENTS,
} from '@licet/contract/limits';
import { useRef, useState } from 'react';
import { endOfDay, toDay } from '../dates.ts';
import { type Entitlements, entitlementText, entitlementValue } from '../entitlements.ts';
import { screenTexts } from '../screen-texts.ts';
import { Button, IconButton } from './button.tsx';
import { FieldGroup, TextField } from './form.tsx';
import { Plus, X } from './icons.tsx';

const words = screenTexts.entitlements;

type Fields = Pick<License, 'entitlements' | 'entitlementsExpire'>;

/** The field of the form that has the rows as JSON. */
const NAME = 'entitlements';

/** The entitlements in a form, and the ends of those of a license. */
export function entitlementsOf(data: FormData): Fields {
  const rows: Row[] = JSON.parse(String(data.get(NAME) ?? '[]'));
  const named = rows.filter(({ name }) => name.trim() !== '');
  return {
    entitlements: Object.fromEntries(
      named.flatMap(({ kind, name, value }) =>
        kind === 'inherited'
          ? []
          : [[name.trim(), kind === 'gone' ? null : entitlementValue(value)]],
      ),
    ),
    entitlementsExpire: Object.fromEntries(
      named.flatMap(({ name, end }) => (end === null ? [] : [[name.trim(), end]])),
    ),
  };
}

/** The entitlements in the form of a product, which takes none away. */
export const entitlementsOfProduct = (data: FormData): Product['entitlements'] =>
  Object.fromEntries(
    Object.entries(entitlementsOf(data).entitlements).flatMap(([name, value]) =>
      value === null ? [] : [[name, value]],
    ),
  );

interface Row {
  key: number;
  /** Of the product alone, taken away, or of the license itself. */
  kind: 'inherited' | 'gone' | 'own';
  name: string;
  value: string;
  end: string | null;
}

function rowsOf(stored: Partial<Fields>): Row[] {
  const { entitlements = {}, entitlementsExpire = {} } = stored;
  return Object.keys({ ...entitlementsExpire, ...entitlements }).map((name, key) => {
    const value = entitlements[name];
    return {
      key,
      kind: value === undefined ? 'inherited' : value === null ? 'gone' : 'own',
      name,
      value: entitlementText(value ?? true),
      end: entitlementsExpire[name] ?? null,
    };
  });
}

/**
 * What a license allows, a row for each name: its value and, at a license, its end.
 *
 * @param inherited those of the product, for a license
 */
export function EntitlementsField({
  stored,
  inherited,
  isCard = false,
}: {
  stored: Partial<Fields>;
  inherited?: Entitlements | undefined;
  isCard?: boolean;
}) {
  const [rows, setRows] = useState(() => rowsOf(stored));
  const next = useRef(rows.length);
  const add = (row: Omit<Row, 'key'>): void =>
    setRows((known) => [...known, { ...row, key: next.current++ }]);
  const change = (changed: Row): void =>
    setRows((known) => known.map((row) => (row.key === changed.key ? changed : row)));
  const untouched = Object.entries(inherited ?? {})
    .filter(([name]) => rows.every((row) => row.name.trim() !== name))
    .map(([name, value]) => ({ name, value: entitlementText(value), end: null }));
  const faultOf = ({ name, key }: Row): string => {
    const typed = name.trim();
    if (typed === '') return '';
    if (!ENTITLEMENT_NAME.test(typed) || RESERVED_ENTITLEMENTS.includes(typed)) {
      return words.wrongName;
    }
    return rows.some((row) => row.key < key && row.name.trim() === typed) ? words.twice : '';
  };
  const valueFaultOf = ({ value }: Row): string =>
    value.trim() === '' || ENTITLEMENT_TEXT.test(value.trim()) ? '' : words.wrongValue;
  const ofProduct = (row: Omit<Row, 'key' | 'kind'>, kind: Row['kind'], key?: number) => (
    <>
      <p className="min-w-0 self-center break-words text-muted">
        <span className="font-mono text-sm">{row.name}</span>{' '}
        {kind === 'gone' ? words.takenAway : words.ofProduct(String(inherited?.[row.name] ?? ''))}
      </p>
      <div className="col-span-2 flex flex-wrap gap-2">
        {kind === 'inherited' && (
          <Button
            onClick={() => {
              const own = {
                ...row,
                kind: 'own' as const,
                value: entitlementText(inherited?.[row.name] ?? true),
              };
              if (key === undefined) add(own);
              else change({ ...own, key });
            }}
          >
            {words.change}
          </Button>
        )}
        <Button
          look="quiet"
          onClick={() => {
            const other = kind === 'gone' ? 'inherited' : 'gone';
            if (key === undefined) add({ ...row, kind: other });
            else if (other === 'inherited') setRows(rows.filter((one) => one.key !== key));
            else change({ ...row, kind: other, key });
          }}
        >
          {kind === 'gone' ? words.restore : words.takeAway}
        </Button>
      </div>
    </>
  );
  const line =
    'grid min-w-0 grid-cols-[minmax(0,1fr)_auto] items-start gap-2 sm:col-span-2 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto]';
  return (
    <FieldGroup title={words.title} isCard={isCard}>
      <input type="hidden" name={NAME} value={JSON.stringify(rows)} />
      <p className="text-xs text-muted sm:col-span-2">{words.hint}</p>
      {untouched.map((row) => (
        <div key={row.name} className={line}>
          {ofProduct(row, 'inherited')}
        </div>
      ))}
      {rows.map((row) => (
        <div key={row.key} className={line}>
          {row.kind === 'own' ? (
            <>
              <div className="max-sm:col-span-2">
                <TextField
                  label={words.name}
                  name={`entitlement name ${row.key}`}
                  value={row.name}
                  required
                  spellCheck="false"
                  autoCapitalize="none"
                  error={faultOf(row)}
                  ref={(input) => input?.setCustomValidity(faultOf(row))}
                  onChange={({ target }) => change({ ...row, name: target.value })}
                />
              </div>
              <TextField
                label={words.value}
                name={`entitlement value ${row.key}`}
                placeholder={words.yes}
                value={row.value}
                error={valueFaultOf(row)}
                ref={(input) => input?.setCustomValidity(valueFaultOf(row))}
                onChange={({ target }) => change({ ...row, value: target.value })}
              />
              <IconButton
                label={words.remove(row.name)}
                className="mt-6.5"
                onClick={() => setRows(rows.filter(({ key }) => key !== row.key))}
              >
                <X size={16} aria-hidden />
              </IconButton>
            </>
          ) : (
            ofProduct(row, row.kind, row.key)
          )}
          {inherited && row.kind !== 'gone' && (
            <TextField
              label={words.end(row.name)}
              name={`entitlement end ${row.key}`}
              type="date"
              value={toDay(row.end)}
              onChange={({ target }) =>
                change({
                  ...row,
                  end: endOfDay(target.value, stored.entitlementsExpire?.[row.name]),
                })
              }
            />
          )}
        </div>
      ))}
      {rows.length < MAX_ENTITLEMENTS && (
        <div className="sm:col-span-2">
          <Button onClick={() => add({ kind: 'own', name: '', value: '', end: null })}>
            <Plus size={16} aria-hidden />
            {words.add}
          </Button>
        </div>
      )}
    </FieldGroup>
  );
}
