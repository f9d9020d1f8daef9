import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { clientConfigurations } from '@licet/contract/assistants';
import { examples } from './output.ts';
import type { OpenSession } from './session.ts';

/** `licet mcp`: print the configuration of assistants. */
export function addMcp(parent: CommandUnknownOpts, open: OpenSession): void {
  parent
    .command('mcp')
    .description('print the configuration of assistants, for usual clients')
    .addHelpText(
      'after',
      `
It has no token: each client reads it from the place that stands above its configuration. Give an assistant a token of its
own, with the permissions that it needs: docs/assistants.md.
${examples('mcp', '--url https://licet.example mcp')}`,
    )
    .action(async () => {
      const { licet, output } = open();
      const address = await licet.address();
      for (const { client, place, text } of clientConfigurations(address.url)) {
        output.done(`${client}: ${place}`, { client, place, text }, `${text}\n`);
      }
      output.warnUnlessPublic(address);
    });
}
