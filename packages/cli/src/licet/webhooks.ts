import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { Delivery, Webhook } from '@licet/client';
import {
  DELIVERY_STATES,
  EVENT_GROUPS,
  EVENT_TYPES,
  WEBHOOK_FORMATS,
  type WebhookType,
} from '@licet/contract/enums';
import { MAX_PAGE_DELIVERIES } from '@licet/contract/limits';
import { argumentError } from '../command-line.ts';
import { CliError } from '../terminal.ts';
import { type Column, examples, firstOf, type Output, timeText } from './output.ts';
import { idArgument, integerFrom, type OpenSession } from './session.ts';

const DEFAULT_SHOWN = 20;

const timeOr = (timestamp: string | null, otherwise: string): string =>
  timestamp === null ? otherwise : timeText(timestamp);

function stateOf({ enabled, disabledReason, failingSince, lastSuccessAt }: Webhook): string {
  if (!enabled) return disabledReason === null ? 'off' : `off: ${disabledReason}`;
  if (failingSince !== null) return `failing since ${timeText(failingSince)}`;
  return lastSuccessAt === null ? 'nothing sent yet' : 'works';
}

const COLUMNS: Column<Webhook>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  {
    title: 'STATE',
    text: stateOf,
    style: ({ enabled, failingSince }) =>
      enabled ? (failingSince === null ? 'green' : 'yellow') : 'red',
    isFlexible: true,
  },
  { title: 'URL', text: ({ url }) => url, isFlexible: true },
  { title: 'FORMAT', text: ({ format }) => format },
  { title: 'EVENTS', text: ({ types }) => types.join(' ') || 'all', isFlexible: true },
  { title: 'LAST SUCCESS (UTC)', text: ({ lastSuccessAt }) => timeOr(lastSuccessAt, 'never') },
  { title: 'DESCRIPTION', text: ({ description }) => description, isFlexible: true },
];

const DELIVERY_COLUMNS: Column<Delivery>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'TIME (UTC)', text: ({ time }) => timeText(time) },
  { title: 'EVENT', text: ({ type }) => type },
  {
    title: 'STATE',
    text: ({ state }) => state,
    style: ({ state }) =>
      state === 'DELIVERED' ? 'green' : state === 'PENDING' ? 'yellow' : 'red',
  },
  { title: 'ATTEMPTS', text: ({ attempts }) => String(attempts) },
  { title: 'STATUS', text: ({ status }) => String(status ?? '') },
  { title: 'NEXT (UTC)', text: ({ nextAttemptAt }) => timeOr(nextAttemptAt, '') },
  { title: 'ERROR', text: ({ error }) => error ?? '', isFlexible: true },
];

const TYPES: readonly WebhookType[] = [...EVENT_GROUPS, ...EVENT_TYPES];

/** The types in a list with commas. `all` is none, which asks for all. */
function typesArgument(text: string): WebhookType[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.join() === 'all') return [];
  const unknown = words.filter((word) => !TYPES.some((type) => type === word));
  if (unknown.length > 0) {
    throw argumentError(
      `${unknown.join(', ')}: no such type of events. Use all, or some of ${TYPES.join(', ')}.`,
    );
  }
  return TYPES.filter((type) => words.includes(type));
}

const TYPES_OPTION = [
  '--types <types>',
  'the events to send, such as license.*,blacklist.hit; all for all of them',
] as const;
const DESCRIPTION_OPTION = ['--description <text>', 'a note for yourself'] as const;
const formatOption = () =>
  new Option('--format <format>', 'the form of messages; recognized from the URL').choices(
    WEBHOOK_FORMATS,
  );

/** Prints the outcome of an attempt. @throws CliError if it failed */
function reportAttempt(output: Output, delivery: Delivery): void {
  const { state, status, durationMs, error, response } = delivery;
  const duration = durationMs === null ? '' : ` in ${durationMs} ms`;
  if (state === 'DELIVERED') {
    output.done(`The receiver returned ${status}${duration}.`, delivery);
    return;
  }
  if (output.isJson) output.object(delivery, {});
  const said = response ? ` It said: ${response.slice(0, 200)}` : '';
  throw new CliError(`${error ?? 'Nothing was sent'}${duration}.${said}`);
}

/** `licet webhooks`: where events are sent. */
export function addWebhooks(parent: CommandUnknownOpts, open: OpenSession): void {
  const webhooks = parent
    .command('webhooks')
    .description('manage webhooks, which send events to a URL or to Discord');

  webhooks
    .command('create')
    .description('add a webhook; prints its secret, which is shown only once')
    .argument('<url>', 'where the events are sent, with https; or the URL of a webhook of Discord')
    .option(...TYPES_OPTION, typesArgument)
    .addOption(formatOption())
    .option(...DESCRIPTION_OPTION)
    .addHelpText(
      'after',
      examples(
        'webhooks create https://shop.example/licet --types license.*',
        'webhooks create https://discord.com/api/webhooks/1/abc --description "#alerts"',
      ),
    )
    .action(async (url, { types, format, description }) => {
      const { licet, output } = open();
      const webhook = await licet.webhooks.create({ url, types, format, description });
      const { id, secret } = webhook;
      if (webhook.format === 'discord') {
        output.done(`Webhook ${id} created. Try it: webhooks test ${id}`, webhook);
      } else {
        output.done(`Webhook ${id} created. Its secret, shown only once:`, webhook, secret);
      }
    });

  webhooks
    .command('list')
    .description('list all webhooks')
    .addHelpText('after', examples('webhooks list'))
    .action(async () => {
      const { licet, output } = open();
      output.list(await licet.webhooks.list(), COLUMNS, 'No webhooks.');
    });

  webhooks
    .command('edit')
    .description('change a webhook')
    .argument('<id>', 'its id, as webhooks list shows it', idArgument)
    .option('--url <url>', 'another URL')
    .option(...TYPES_OPTION, typesArgument)
    .addOption(formatOption())
    .option(...DESCRIPTION_OPTION)
    .addOption(new Option('--on', 'switch it on').conflicts('off'))
    .option('--off', 'switch it off; events from then on are not sent later')
    .addHelpText('after', examples('webhooks edit 2 --types license.*', 'webhooks edit 2 --on'))
    .action(async (id, { on, off, ...values }) => {
      const enabled = on ? true : off ? false : undefined;
      const changes = Object.entries({ ...values, enabled }).filter(([, value]) => value != null);
      if (changes.length === 0) throw argumentError('Give at least one option to change.');
      const { licet, output } = open();
      const webhook = await licet.webhooks.update(id, Object.fromEntries(changes));
      output.done(`Webhook ${id} is changed: ${stateOf(webhook)}.`, webhook);
    });

  webhooks
    .command('test')
    .description('send a test, and print the response of the receiver')
    .argument('<id>', 'its id', idArgument)
    .addHelpText('after', examples('webhooks test 2'))
    .action(async (id) => {
      const { licet, output } = open();
      reportAttempt(output, await licet.webhooks.test(id));
    });

  webhooks
    .command('deliveries')
    .description('list the deliveries of the last 30 days, newest last')
    .argument('<id>', 'its id', idArgument)
    .addOption(new Option('--state <state>', 'only those in this state').choices(DELIVERY_STATES))
    .option('--limit <n>', `the newest n (${DEFAULT_SHOWN})`, integerFrom(1), DEFAULT_SHOWN)
    .addHelpText('after', examples('webhooks deliveries 2', 'webhooks deliveries 2 --state FAILED'))
    .action(async (id, { state, limit }) => {
      const { licet, output } = open();
      const pages = licet.webhooks
        .deliveries(id)
        .iterate({ state, limit: Math.min(limit + 1, MAX_PAGE_DELIVERIES) });
      const { first, hasMore } = await firstOf(pages, limit);
      if (hasMore)
        output.note(`There are more than ${limit} deliveries. Raise --limit to see them.`);
      output.list(first.reverse(), DELIVERY_COLUMNS, 'No deliveries.');
    });

  webhooks
    .command('resend')
    .description('send a delivery again, with the same webhook-id')
    .argument('<id>', 'the id of the webhook', idArgument)
    .argument('<delivery>', 'the id of the delivery, as webhooks deliveries shows it', idArgument)
    .addHelpText('after', examples('webhooks resend 2 11800166572032'))
    .action(async (id, deliveryId) => {
      const { licet, output } = open();
      reportAttempt(output, await licet.webhooks.resend(id, deliveryId));
    });

  webhooks
    .command('rotate-secret')
    .description('make a new secret and print it; the old one also signs for 24 hours')
    .argument('<id>', 'its id', idArgument)
    .addHelpText('after', examples('webhooks rotate-secret 2'))
    .action(async (id) => {
      const { licet, output } = open();
      const webhook = await licet.webhooks.rotateSecret(id);
      const message = `The new secret of webhook ${id}, shown only once. The old one also signs for 24 hours:`;
      output.done(message, webhook, webhook.secret);
    });

  webhooks
    .command('delete')
    .description('delete a webhook; events that are not delivered yet are not sent')
    .argument('<id>', 'its id', idArgument)
    .addHelpText('after', examples('webhooks delete 2'))
    .action(async (id) => {
      const { licet, output } = open();
      const webhook = await licet.webhooks.get(id);
      await licet.webhooks.delete(id);
      output.done(`Webhook ${id} to ${webhook.url} is deleted.`, webhook);
    });
}
