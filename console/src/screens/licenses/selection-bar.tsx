import type { License } from '@licet/client';
import { X } from 'lucide-react';
import { type Dispatch, type SetStateAction, useState } from 'react';
import { describe, queries } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, TextField } from '../../components/form.tsx';
import { Menu, MenuItem, MenuList } from '../../components/menu.tsx';
import { runWithProgress } from '../../components/progress.tsx';
import { toasts } from '../../components/toasts.tsx';
import { downloadCsv } from '../../csv.ts';
import { screenTexts } from '../../screen-texts.ts';
import { texts } from '../../texts.ts';
import { CustomerField, ownerOfText } from '../customers/field.tsx';
import { assign, extend, inBulk, setStatus, type Work } from './bulk.ts';
import { toCsvRows } from './columns.tsx';

const words = screenTexts.licenses.bulk;
type Action = keyof typeof words.running;

/**
 * Changes many licenses and shows the result, with an undo of the changes.
 *
 * @returns the licenses that were not changed, for another try
 */
async function run(action: Action, ids: readonly number[], work: Work): Promise<readonly number[]> {
  const result = await runWithProgress(
    words.running[action],
    (progress, signal) => inBulk(ids, work, progress, signal),
    ids.length,
  );
  await queries.invalidateQueries({ queryKey: ['licenses'] });
  if (!result) return ids;
  const { undos, failed, firstError, left } = result;
  const rest = [...failed, ...left];
  if (failed.length > 0) toasts.fail(words.failures(failed.length, describe(firstError)));
  const stopped = left.length > 0 ? `. ${words.stopped(left.length)}` : '';
  if (action === 'undo') toasts.done(words.done.undo(ids.length - rest.length) + stopped);
  else if (undos.length + rest.length === 0) toasts.done(words.unchanged);
  else {
    toasts.done(
      words.done[action](undos.length) + stopped,
      undos.length === 0 ? undefined : () => undoAll(undos),
    );
  }
  return rest;
}

const undoAll = (undos: readonly (() => Promise<unknown>)[]): Promise<unknown> =>
  run(
    'undo',
    undos.map((_, index) => index),
    async (index) => {
      await undos[index]?.();
      return undefined;
    },
  );

/** The actions for the selected licenses. */
export function SelectionBar({
  selected,
  onChange,
  products,
  refusal,
  selectMatching,
}: {
  selected: ReadonlyMap<string, License>;
  onChange: Dispatch<SetStateAction<ReadonlyMap<string, License>>>;
  products: ReadonlyMap<number, string>;
  /** The reason why the token may not change licenses. */
  refusal: string | undefined;
  selectMatching: (() => Promise<void>) | undefined;
}) {
  const [isExtending, setExtending] = useState(false);
  const [isAssigning, setAssigning] = useState(false);
  const licenses = [...selected.values()];
  const start = async (action: Action, work: Work): Promise<void> => {
    onChange(new Map());
    const ids = licenses.map(({ id }) => id);
    const rest = new Set(await run(action, ids, work));
    // Licenses that were selected meanwhile stay selected.
    const again = [...selected].filter(([, { id }]) => rest.has(id));
    if (again.length > 0) onChange((now) => new Map([...now, ...again]));
  };
  const remove = async (): Promise<void> => {
    const { size } = selected;
    const question = {
      title: words.deleteTitle(size),
      lead: words.deleteLead,
      action: words.delete,
    };
    if (await confirm(question)) await start('delete', setStatus('DELETED'));
  };
  const actions = [
    { label: words.extend, refusal, onClick: () => setExtending(true) },
    { label: words.assign, refusal, onClick: () => setAssigning(true) },
    {
      label: words.deactivate,
      refusal,
      onClick: () => start('deactivate', setStatus('DEACTIVATED')),
    },
    { label: words.restore, refusal, onClick: () => start('restore', setStatus('ACTIVE')) },
    { label: words.delete, refusal, onClick: remove },
    {
      label: screenTexts.licenses.csvSelected,
      refusal: undefined,
      onClick: () => downloadCsv(screenTexts.licenses.csvName, toCsvRows(licenses, products)),
    },
  ];
  return (
    <section
      aria-label={texts.table.selected(selected.size)}
      data-bar
      className="sticky bottom-16 z-10 flex items-center gap-2 rounded-xl border border-line bg-raised p-2 pl-4 shadow-raised lg:bottom-4"
    >
      <p className="mr-auto font-medium">{texts.table.selected(selected.size)}</p>
      {selectMatching && (
        <Button look="quiet" className="max-md:hidden" onClick={selectMatching}>
          {screenTexts.licenses.selectMatching}
        </Button>
      )}
      <div className="flex gap-2 max-xl:hidden">
        {actions.map(({ label, ...action }) => (
          <Button key={label} {...action}>
            {label}
          </Button>
        ))}
      </div>
      <div className="xl:hidden">
        <Menu label={words.actions} trigger={words.actions} isUp>
          <MenuList label={words.actions}>
            {selectMatching && (
              <div className="md:hidden">
                <MenuItem onClick={selectMatching}>{screenTexts.licenses.selectMatching}</MenuItem>
              </div>
            )}
            {actions.map(({ label, ...action }) => (
              <MenuItem key={label} {...action}>
                {label}
              </MenuItem>
            ))}
          </MenuList>
        </Menu>
      </div>
      <Button look="quiet" onClick={() => onChange(new Map())}>
        <X size={16} aria-hidden className="md:hidden" />
        <span className="max-md:sr-only">{texts.actions.clear}</span>
      </Button>
      <ExtendDialog
        count={selected.size}
        isOpen={isExtending}
        onClose={() => setExtending(false)}
        onExtend={(days) => start('extend', extend(days))}
      />
      <AssignDialog
        count={selected.size}
        isOpen={isAssigning}
        onClose={() => setAssigning(false)}
        onAssign={(customer) => start('assign', assign(ownerOfText(customer)))}
      />
    </section>
  );
}

/** Asks for the number of days by which licenses are extended. */
export const ExtendDialog = ({
  count,
  isOpen,
  onClose,
  onExtend,
}: {
  count: number;
  isOpen: boolean;
  onClose: () => void;
  onExtend: (days: number) => unknown;
}) => (
  <Dialog
    title={words.extendTitle(count)}
    lead={words.extendLead}
    isOpen={isOpen}
    onClose={onClose}
  >
    <Form
      onSubmit={async (data) => {
        // A second click may come while the dialog fades out.
        if (!isOpen) return;
        onClose();
        onExtend(Number(data.get('days')));
      }}
      buttons={() => (
        <Button type="submit" look="primary">
          {words.extend}
        </Button>
      )}
    >
      <TextField
        label={words.extendDays}
        name="days"
        type="number"
        min={1}
        max={36_500}
        step={1}
        defaultValue={30}
        required
      />
    </Form>
  </Dialog>
);

/** Asks for the customer to whom licenses are given. */
const AssignDialog = ({
  count,
  isOpen,
  onClose,
  onAssign,
}: {
  count: number;
  isOpen: boolean;
  onClose: () => void;
  onAssign: (customer: string) => unknown;
}) => (
  <Dialog
    title={words.assignTitle(count)}
    lead={words.assignLead}
    isOpen={isOpen}
    onClose={onClose}
  >
    <Form
      onSubmit={async (data) => {
        // A second click may come while the dialog fades out.
        if (!isOpen) return;
        onClose();
        onAssign(String(data.get('customerEmail')).trim());
      }}
      buttons={() => (
        <Button type="submit" look="primary">
          {words.assignAction}
        </Button>
      )}
    >
      <CustomerField hint={screenTexts.licenseForm.customerHint} required />
    </Form>
  </Dialog>
);
