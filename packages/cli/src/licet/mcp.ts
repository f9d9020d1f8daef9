import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { clientConfigurations } from '@licet/contract/assistants';
import { documentOf } from '../invocation.ts';
import { examples } from './output.ts';
import type { OpenSession } from './session.ts';

/** `licet mcp`: print the configuration of assistants. */
export function addMcp(parent: CommandUnknownOpts, open: OpenSession): void {
  parent
    .command('mcp')
    .description('print the configuration that connects an assistant, for usual clients')
    .addHelpText(
      'after',
      `
The configuration has no token: the line above it says where the client gets it. Make a token for the assistant alone, with
no more permissions than it needs: ${documentOf('assistants')}.
${examples('mcp', '--url https://licet.example mcp')}`,
    )
    .action(async () => {
      const { licet, output } = open();
      const address = await licet.address();
      for (const { client, place, text } of clientConfigurations(address.url)) {
        output.text(`${client}: ${place}`, { client, place, text }, text);
      }
      output.warnUnlessPublic(address);
    });
}
