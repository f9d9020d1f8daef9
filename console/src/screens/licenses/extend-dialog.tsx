import type { License } from '@licet/client';
import { LicetError } from '@licet/client';
import { type Move, moved } from '@licet/contract/expiries';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ExpiryField } from '../../components/expiry-field.tsx';
import { Form, SelectField, TextField } from '../../components/form.tsx';
import { screenTexts } from '../../screen-texts.ts';

const words = screenTexts.licenses.bulk;
const MAX_DAYS = 36_500;

/** The results of a move for licenses, each with its number; undefined for an incomplete move. */
function effectOf(licenses: readonly License[], move: Move | undefined) {
  if (!move) return undefined;
  const now = Date.now();
  let ended = 0;
  let revived = 0;
  let endless = 0;
  for (const { expiryDate, licenseStatus } of licenses) {
    if (expiryDate === null) endless++;
    else {
      const isOver = Date.parse(moved(expiryDate, move, now)) <= now;
      if (isOver && licenseStatus === 'ACTIVE') ended++;
      if (!isOver && licenseStatus === 'EXPIRED') revived++;
    }
  }
  const moves = licenses.length - endless;
  return {
    text: words.moveEffect({ moved: moves, ended, revived, endless }),
    isHarmful: ended > 0,
    isNone: moves === 0,
  };
}

/** Asks for the days by which licenses are extended or shortened, or for a date, and says what that changes. */
export function ExtendDialog({
  licenses,
  isOpen,
  onClose,
  onMove,
}: {
  licenses: readonly License[];
  isOpen: boolean;
  onClose: () => void;
  onMove: (move: Move) => unknown;
}) {
  const [isToDate, setToDate] = useState(false);
  const [days, setDays] = useState('30');
  const [until, setUntil] = useState<string | null>(null);
  const move: Move | undefined = isToDate
    ? until === null
      ? undefined
      : { until }
    : Number.isInteger(Number(days)) && Number(days) !== 0
      ? { days: Number(days) }
      : undefined;
  const effect = effectOf(licenses, move);
  return (
    <Dialog
      title={words.extendTitle(licenses.length)}
      lead={words.extendLead}
      isOpen={isOpen}
      onClose={onClose}
    >
      <Form
        onSubmit={async () => {
          // A second click may come while the dialog fades out.
          if (!isOpen) return;
          if (!move) throw new LicetError(400, words.noMove);
          onClose();
          onMove(move);
        }}
        buttons={() => (
          <Button type="submit" look="primary" disabled={effect?.isNone}>
            {words.move(licenses.length, move)}
          </Button>
        )}
      >
        <SelectField
          label={words.how}
          name="how"
          defaultValue="days"
          options={[
            ['days', words.byDays],
            ['date', words.toDate],
          ]}
          onChange={({ currentTarget }) => {
            setToDate(currentTarget.value === 'date');
            setUntil(null);
          }}
        />
        {isToDate ? (
          <ExpiryField label={words.date} name="date" isRequired onChange={setUntil} />
        ) : (
          <TextField
            label={words.extendDays}
            hint={words.extendDaysHint}
            name="days"
            type="number"
            min={-MAX_DAYS}
            max={MAX_DAYS}
            step={1}
            value={days}
            onChange={({ target }) => setDays(target.value)}
            required
          />
        )}
        <p
          role="status"
          className={`empty:hidden ${effect?.isHarmful ? 'text-bad' : 'text-muted'}`}
        >
          {effect?.text}
        </p>
      </Form>
    </Dialog>
  );
}
