import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { Event } from '@licet/client';
import { EVENT_RESOURCES, EVENT_TYPES } from '@licet/contract/enums';
import { MAX_PAGE_OBJECTS } from '@licet/contract/limits';
import { argumentError } from '../command-line.ts';
import { type Column, examples, firstOf, timeText } from './output.ts';
import { idArgument, integerFrom, type OpenSession, sinceArgument } from './session.ts';

const DEFAULT_SHOWN = 20;
const DEFAULT_SHOWN_SINCE = 1_000;

/** A value of a change in a table: text as it is, null as nothing. */
const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);

/** Changes in a table: `notes: Old → New`. */
const changesText = ({ changes }: Event): string =>
  Object.entries(changes ?? {})
    .map(([name, { before, after }]) =>
      [`${name}:`, valueText(before), '→', valueText(after)].filter(Boolean).join(' '),
    )
    .join(', ');

const COLUMNS: Column<Event>[] = [
  { title: 'TIME (UTC)', text: ({ time }) => timeText(time) },
  { title: 'EVENT', text: ({ type }) => type },
  { title: 'ID', text: ({ resourceId }) => String(resourceId ?? '') },
  {
    title: 'BY',
    text: ({ actor }) => [actor.tokenId, actor.tokenName].filter((part) => part !== null).join(' '),
    isFlexible: true,
  },
  {
    title: 'FROM',
    text: ({ ip, actor }) =>
      `${ip ?? ''}${actor.isConsole ? ' (console)' : ''}${actor.isMcp ? ' (mcp)' : ''}`,
  },
  { title: 'CHANGES', text: changesText, isFlexible: true },
];

/** `licet events`: the log of changes. */
export function addEvents(parent: CommandUnknownOpts, open: OpenSession): void {
  parent
    .command('events')
    .description('show changes with their authors, newest last')
    .addOption(new Option('--type <type>', 'only this change').choices(EVENT_TYPES))
    .addOption(
      new Option('--resource <resource>', 'only this kind of object').choices(EVENT_RESOURCES),
    )
    .option('--id <id>', 'only the object with this id; with --resource', idArgument)
    .addOption(
      new Option('--token <id>', 'only changes with this token')
        .argParser(idArgument)
        .conflicts('alerts'),
    )
    .option('--alerts', 'only events of the service, such as a license without a free slot')
    .option('--since <when>', 'only since a time ago (90s, 30m, 2h, 7d) or a date', sinceArgument)
    .option(
      '--limit <n>',
      `the newest n (${DEFAULT_SHOWN}; with --since ${DEFAULT_SHOWN_SINCE})`,
      integerFrom(1),
    )
    .addHelpText(
      'after',
      examples(
        'events --since 7d',
        'events --resource license --id 50',
        'events --type token.created --token 3',
        'events --alerts --since 7d',
      ),
    )
    .action(async ({ type, resource, id, token, alerts, since, limit }) => {
      if (id !== undefined && resource === undefined) {
        throw argumentError(
          'Give --resource with --id: objects of different kinds have the same ids.',
        );
      }
      const { licet, output } = open();
      const shown = limit ?? (since ? DEFAULT_SHOWN_SINCE : DEFAULT_SHOWN);
      const pages = licet.events.iterate({
        type,
        resourceType: resource,
        resourceId: id,
        tokenId: token,
        actor: alerts ? 'service' : undefined,
        from: since,
        limit: Math.min(shown + 1, MAX_PAGE_OBJECTS),
      });
      const { first, hasMore } = await firstOf(pages, shown);
      if (since && hasMore) {
        output.note(
          `More than ${shown} events match. Older ones are left out; raise --limit to see them.`,
        );
      }
      output.list(first.reverse(), COLUMNS, 'No events found.');
    });
}
