import { entitlementValue } from '@licet/cli/entitlements';
import type { License, Product } from '@licet/client';
import {
  ENTITLEMENT_NAME,
  ENTITLEMENT_TEXT,
  MAX_ENTITLEMENTS,
  RESERVED_ENTITLEMENTS,
} from '@licet/contract/limits';
import { useRef, useState } from 'react';
import { endOfDay, toDay } from '../dates.ts';
import { type Entitlements, entitlementText } from '../entitlements.ts';
import { screenTexts } from '../screen-texts.ts';
import { Button, IconButton } from './button.tsx';
import { FieldGroup, focusSoon, TextField } from './form.tsx';
import { Plus, X } from './icons.tsx';

const words = screenTexts.entitlements;

type Fields = Pick<License, 'entitlements' | 'entitlementsExpire'>;

/** The field of the form that has the rows as JSON. */
const NAME = 'entitlements';
const ADD = 'entitlement add';

/** The entitlements in a form, and the ends of those of a license. */
export function entitlementsOf(data: FormData): Fields {
  const rows: Row[] = JSON.parse(String(data.get(NAME) ?? '[]'));
  const named = rows.filter(({ name }) => name.trim() !== '');
  return {
    entitlements: Object.fromEntries(
      named.flatMap(({ kind, name, value }) =>
        kind === 'inherited'
          ? []
          : [[name.trim(), kind === 'gone' ? null : entitlementValue(value.trim())]],
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
  /** Undefined for one of the product that nobody has touched here. */
  key: number | undefined;
  /** A row of the product alone, one that is taken away, or one of the license itself. */
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
 * Entitlements, a row for each name: its value and, at a license, its end.
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
  const [rows, setRows] = useState<readonly Row[]>(() => rowsOf(stored));
  const next = useRef(rows.length);
  const put = (row: Row): number => {
    const placed = { ...row, key: row.key ?? next.current++ };
    const isNew = row.key === undefined;
    setRows((known) =>
      isNew ? [...known, placed] : known.map((one) => (one.key === row.key ? placed : one)),
    );
    return placed.key;
  };
  /** Puts a row that has other controls than before. */
  const turn = (row: Row): void => focusSoon(`entitlement name ${put(row)}`);
  const remove = ({ key }: Row): void => {
    setRows((known) => known.filter((row) => row.key !== key));
    focusSoon(ADD);
  };
  const ofProduct = (name: string): Row => {
    const value = entitlementText(inherited?.[name] ?? true);
    return { key: undefined, kind: 'inherited', name, value, end: null };
  };
  const untouched = Object.keys(inherited ?? {})
    .filter((name) => rows.every((row) => row.name.trim() !== name))
    .map(ofProduct);
  // In an order that no change of a row moves: a field that moves loses the focus.
  const others = [...untouched, ...rows.filter(({ kind }) => kind !== 'own')];
  const shown = [
    ...others.sort((one, other) => (one.name < other.name ? -1 : 1)),
    ...rows.filter(({ kind }) => kind === 'own'),
  ];
  const faultOf = (row: Row): string => {
    const typed = row.name.trim();
    if (typed === '') return '';
    if (!ENTITLEMENT_NAME.test(typed) || RESERVED_ENTITLEMENTS.includes(typed)) {
      return words.wrongName;
    }
    return rows.find(({ name }) => name.trim() === typed) === row ? '' : words.twice;
  };
  const valueFaultOf = ({ value }: Row): string =>
    ENTITLEMENT_TEXT.test(String(entitlementValue(value.trim()))) ? '' : words.wrongValue;
  const line =
    'grid min-w-0 grid-cols-[minmax(0,1fr)_auto] items-start gap-2 sm:col-span-2 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto]';
  return (
    <FieldGroup title={words.title} isCard={isCard}>
      <input type="hidden" name={NAME} value={JSON.stringify(rows)} />
      <p className="text-xs text-muted sm:col-span-2">{words.hint}</p>
      {shown.map((row) => (
        <div key={row.kind === 'own' ? row.key : row.name} className={line}>
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
                  onChange={({ target }) => put({ ...row, name: target.value })}
                />
              </div>
              <TextField
                label={words.value}
                name={`entitlement value ${row.key}`}
                placeholder={words.yes}
                value={row.value}
                error={valueFaultOf(row)}
                ref={(input) => input?.setCustomValidity(valueFaultOf(row))}
                onChange={({ target }) => put({ ...row, value: target.value })}
              />
              <IconButton
                label={words.remove(row.name)}
                className="mt-6.5"
                onClick={() => remove(row)}
              >
                <X size={16} aria-hidden />
              </IconButton>
            </>
          ) : (
            <>
              <p className="min-w-0 self-center break-words text-muted max-sm:col-span-2">
                <span className="font-mono text-sm">{row.name}</span>{' '}
                {row.kind === 'gone'
                  ? words.takenAway
                  : words.ofProduct(String(inherited?.[row.name] ?? ''))}
              </p>
              <div className="col-span-2 flex flex-wrap gap-2">
                {row.kind === 'gone' ? (
                  <Button name={`entitlement name ${row.key}`} onClick={() => remove(row)}>
                    {words.restore}
                  </Button>
                ) : (
                  <>
                    <Button
                      onClick={() =>
                        turn({ ...row, kind: 'own', value: ofProduct(row.name).value })
                      }
                    >
                      {words.change}
                    </Button>
                    <Button onClick={() => turn({ ...row, kind: 'gone' })}>{words.takeAway}</Button>
                  </>
                )}
              </div>
            </>
          )}
          {inherited && row.kind !== 'gone' && (
            <div className="max-sm:col-span-2">
              <TextField
                label={words.end(row.name)}
                name={`entitlement end ${row.key ?? row.name}`}
                type="date"
                value={toDay(row.end)}
                onChange={({ target }) =>
                  put({
                    ...row,
                    end: endOfDay(target.value, stored.entitlementsExpire?.[row.name]),
                  })
                }
              />
            </div>
          )}
        </div>
      ))}
      {rows.length < MAX_ENTITLEMENTS && (
        <div className="sm:col-span-2">
          <Button
            name={ADD}
            onClick={() => turn({ key: undefined, kind: 'own', name: '', value: '', end: null })}
          >
            <Plus size={16} aria-hidden />
            {words.add}
          </Button>
        </div>
      )}
    </FieldGroup>
  );
}
