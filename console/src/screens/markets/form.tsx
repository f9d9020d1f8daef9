import type { Market, Tagged } from '@licet/client';
import { DYNAMIC_PRESETS } from '@licet/contract/dynamic-presets';
import {
  DISPUTE_ACTIONS,
  type DisputeAction,
  MARKET_KINDS,
  type MarketKind,
  REFUND_ACTIONS,
  type RefundAction,
} from '@licet/contract/enums';
import { MAX_TEXT_LENGTH } from '@licet/contract/limits';
import { type ReactNode, useState } from 'react';
import { licet } from '../../api.ts';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import {
  CheckField,
  FieldGroup,
  SelectField,
  TextArea,
  TextField,
} from '../../components/form.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { refreshMarkets } from './queries.ts';

const words = screenTexts.markets;

type Preset = keyof typeof DYNAMIC_PRESETS;
/** The shops of a dynamic market stand beside the markets: sellers look for the name of their shop. */
type Choice = Exclude<MarketKind, 'dynamic'> | Preset | typeof OTHER_SHOP;
const OTHER_SHOP = 'other';

const PRESETS = Object.entries(DYNAMIC_PRESETS);
const CHOICES = [
  ...MARKET_KINDS.flatMap((kind) =>
    kind === 'dynamic' ? [] : [[kind, words.kinds[kind]] as const],
  ),
  ...PRESETS.map(([preset, { label }]) => [preset, label] as const),
  [OTHER_SHOP, words.otherShop] as const,
];

const settingsOf = (choice: string) => PRESETS.find(([preset]) => preset === choice)?.[1].settings;

const kindOf = (choice: string): MarketKind =>
  MARKET_KINDS.find((kind) => kind === choice) ?? 'dynamic';

/** The settings that were typed. Text that is no JSON is sent as it is: the service says so beside the field. */
function typedSettings(text: string): Market['settings'] {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(JSON.stringify(text));
  }
}

const jsonOf = (settings: object | null): string => JSON.stringify(settings, null, 2);

type Values = Pick<Market, 'name' | 'onRefund' | 'onDispute' | 'mailsKey' | 'enabled' | 'settings'>;

const yesOrNo = (isOn: boolean): string => (isOn ? screenTexts.events.yes : screenTexts.events.no);

const FIELDS: readonly EditedField<Values>[] = [
  { name: 'name', label: words.name },
  {
    name: 'onRefund',
    label: words.onRefund,
    show: ({ onRefund }) => words.refundActions[onRefund],
  },
  {
    name: 'onDispute',
    label: words.onDispute,
    show: ({ onDispute }) => words.disputeActions[onDispute],
  },
  {
    name: 'mailsKey',
    label: words.mailsKey,
    show: ({ mailsKey }) => yesOrNo(mailsKey),
  },
  {
    name: 'enabled',
    label: words.enabled,
    show: ({ enabled }) => yesOrNo(enabled),
  },
  { name: 'settings', label: words.settings, show: ({ settings }) => jsonOf(settings) },
];

/** The form of a market; without `stored` that of a new one. */
export function MarketForm({
  stored,
  onCreated,
  onDone,
  cancel,
}: {
  stored?: Tagged<Market> & { id: number };
  onCreated?: (market: Market) => void;
  onDone?: () => void;
  cancel?: ReactNode;
}) {
  const refusal = useRefusal('everything');
  const market = stored?.item;
  const [choice, setChoice] = useState<string>('builtbybit' satisfies Choice);
  const [name, setName] = useState(market?.name ?? words.kinds.builtbybit);
  const choose = (next: string): void => {
    // A name that the viewer has not touched follows.
    if (name === labelOf(choice)) setName(labelOf(next));
    setChoice(next);
  };
  const valuesOf = (data: FormData): Values => ({
    name: name.trim(),
    onRefund: REFUND_ACTIONS.find((one) => one === data.get('onRefund')) ?? 'deactivate',
    onDispute: DISPUTE_ACTIONS.find((one) => one === data.get('onDispute')) ?? 'deactivate',
    mailsKey: data.has('mailsKey'),
    enabled: market === undefined || data.has('enabled'),
    settings: data.has('settings')
      ? typedSettings(String(data.get('settings')))
      : (market?.settings ?? null),
  });
  return (
    <EditForm<Values>
      stored={stored}
      fields={FIELDS}
      valuesOf={valuesOf}
      // A new market has the default of its kind.
      create={async ({ mailsKey: _, ...values }) => {
        const settings = settingsOf(choice) ?? values.settings;
        onCreated?.(await licet.markets.create({ ...values, kind: kindOf(choice), settings }));
        await refreshMarkets();
      }}
      update={async (changes, ifMatch) => {
        await licet.markets.update(stored?.id ?? 0, changes, { ifMatch });
        await refreshMarkets();
      }}
      read={() => licet.markets.read(stored?.id ?? 0)}
      onDone={() => stored && onDone?.()}
      createLabel={words.create}
      refusal={refusal}
      buttons={cancel}
    >
      {!market && (
        <SelectField
          label={words.kind}
          hint={words.kindHint}
          name="kind"
          options={CHOICES}
          defaultValue={choice}
          onChange={({ target }) => choose(Object(target).value)}
        />
      )}
      <TextField
        label={words.name}
        hint={words.nameHint}
        name="name"
        value={name}
        onChange={({ target }) => setName(target.value)}
        maxLength={MAX_TEXT_LENGTH}
        required
      />
      {(market ? market.settings !== null : choice === OTHER_SHOP) && (
        <TextArea
          label={words.settings}
          hint={words.settingsHint}
          name="settings"
          rows={14}
          spellCheck={false}
          className="font-mono"
          defaultValue={jsonOf(market?.settings ?? DYNAMIC_PRESETS.sellauth.settings)}
          required
        />
      )}
      <FieldGroup>
        <SelectField
          label={words.onRefund}
          hint={words.onRefundHint}
          name="onRefund"
          options={REFUND_ACTIONS.map((one: RefundAction) => [one, words.refundActions[one]])}
          defaultValue={market?.onRefund ?? 'deactivate'}
        />
        <SelectField
          label={words.onDispute}
          hint={words.onDisputeHint}
          name="onDispute"
          options={DISPUTE_ACTIONS.map((one: DisputeAction) => [one, words.disputeActions[one]])}
          defaultValue={market?.onDispute ?? 'deactivate'}
        />
      </FieldGroup>
      {market && (
        <>
          <CheckField
            name="mailsKey"
            label={words.mailsKey}
            hint={words.mailsKeyHint}
            defaultChecked={market.mailsKey}
          />
          <CheckField
            name="enabled"
            label={words.enabled}
            hint={words.enabledHint}
            defaultChecked={market.enabled}
          />
        </>
      )}
    </EditForm>
  );
}

const labelOf = (choice: string): string =>
  CHOICES.find(([known]) => known === choice)?.[1] ?? choice;
