import type { License, LicenseStatus } from '@licet/client';
import { type Dispatch, type SetStateAction, useState } from 'react';
import { describe, queries } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form } from '../../components/form.tsx';
import { X } from '../../components/icons.tsx';
import { Menu, MenuItem, MenuList } from '../../components/menu.tsx';
import { runWithProgress } from '../../components/progress.tsx';
import { toasts } from '../../components/toasts.tsx';
import { downloadItems } from '../../csv.ts';
import { screenTexts } from '../../screen-texts.ts';
import { texts } from '../../texts.ts';
import { CustomerField, findOwner } from '../customers/field.tsx';
import { assign, inBulk, moveExpiry, nameOf, setStatus, type Work } from './bulk.ts';
import { ExtendDialog } from './extend-dialog.tsx';

const words = screenTexts.licenses.bulk;
type Action = keyof typeof words.running;

/** A change of the status of more licenses is asked for first. */
const MAX_UNASKED = 10;

/** Each change of the status, with the statuses of the licenses that it changes for programs. */
const QUESTIONS: Readonly<
  Record<
    keyof typeof words.ask,
    {
      status: Parameters<typeof setStatus>[0];
      isHit: readonly LicenseStatus[];
      lead: (hit: number) => string;
    }
  >
> = {
  deactivate: { status: 'DEACTIVATED', isHit: ['ACTIVE'], lead: words.willBeRefused },
  delete: { status: 'DELETED', isHit: ['ACTIVE'], lead: words.willBeRefused },
  restore: { status: 'ACTIVE', isHit: ['DEACTIVATED', 'DELETED'], lead: words.willBeRestored },
};

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
  refusal,
  selectMatching,
}: {
  selected: ReadonlyMap<string, License>;
  onChange: Dispatch<SetStateAction<ReadonlyMap<string, License>>>;
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
  /** Changes the status. A change of many licenses, and each deletion, is asked for first. */
  const change = async (action: keyof typeof words.ask): Promise<void> => {
    const { status, isHit, lead } = QUESTIONS[action];
    const { size } = selected;
    const isSure =
      (size <= MAX_UNASKED && action !== 'delete') ||
      (await confirm({
        title: words.ask[action](size),
        lead: lead(licenses.filter(({ licenseStatus }) => isHit.includes(licenseStatus)).length),
        action: words[action],
        look: action === 'restore' ? 'primary' : 'danger',
      }));
    if (isSure) await start(action, setStatus(status));
  };
  const actions = [
    { label: words.extend, refusal, onClick: () => setExtending(true) },
    { label: words.assign, refusal, onClick: () => setAssigning(true) },
    { label: words.deactivate, refusal, onClick: () => change('deactivate') },
    { label: words.restore, refusal, onClick: () => change('restore') },
    { label: words.delete, refusal, onClick: () => change('delete') },
    {
      label: screenTexts.licenses.csvSelected,
      refusal: undefined,
      onClick: () => downloadItems(screenTexts.licenses.csvName, 'licenses', licenses),
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
        licenses={licenses}
        isOpen={isExtending}
        onClose={() => setExtending(false)}
        onMove={(move) => start(nameOf(move), moveExpiry(move))}
      />
      <AssignDialog
        count={selected.size}
        isOpen={isAssigning}
        onClose={() => setAssigning(false)}
        onAssign={(owner) => start('assign', assign(owner))}
      />
    </section>
  );
}

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
  onAssign: (owner: Parameters<typeof assign>[0]) => unknown;
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
        // Each license would be refused for itself.
        const owner = await findOwner(String(data.get('customerEmail')).trim());
        onClose();
        onAssign(owner);
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
