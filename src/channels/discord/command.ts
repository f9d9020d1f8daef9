import type { Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import type { Outbound } from '../../lib/outbound.ts';
import type { PublicUrl } from '../../lib/public-url.ts';
import { NEVER } from '../../resources/licenses/rules.ts';
import type { ProductRow } from '../../resources/products/queries.ts';
import type { Interaction, Message } from './interaction.ts';
import type { DiscordSettings } from './settings.ts';

/** The parts that the commands of customers and of administrators share. */

/** The parts that a command works with. */
export interface CommandContext {
  db: Database;
  outbound: Outbound;
  settings: DiscordSettings;
  interaction: Interaction & { user: { id: string; username: string } };
  /** Makes a sender of a change, with the clock of now. */
  newSender: (by: Pick<Sender, 'actor' | 'customerId'>) => Sender;
  /** The address of the service, for links. */
  publicUrl: PublicUrl;
  /** For the ids of machines. */
  secret: string;
  /** Counts an attempt of the user. @returns whether there were too many */
  isTooOften: () => boolean;
}

/** Room for words before and after a list. */
const MAX_LISTED = 1_800;

export interface Command {
  run: (context: CommandContext) => Promise<Message>;
  /** Only for administrators, whose rights are checked at each call: a server can show a command to anybody. */
  isForAdmins?: true;
  /** A repetition of the same interaction must not run it again. */
  changes?: true;
}

export const say = (text: string): Message => ({ text });

/** Formats foreign text as inline code, where only backticks need escaping. */
export const code = (text: string): string => `\`${text.replaceAll('`', "'")}\``;

/** Lines, as many as a message has room for. @param total the number of all, also of those that have no line */
export function listed(lines: readonly string[], more: string, total = lines.length): string {
  const shown: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > MAX_LISTED)
      return [...shown, `… and ${total - shown.length} more: ${more}`].join('\n');
    shown.push(line);
  }
  return shown.join('\n');
}

/** The values of a new license that a command makes. */
export const newValues = (product: ProductRow) => ({
  productId: product.id,
  licenseType: 'PERMANENT' as 'PERMANENT' | 'TEMPORARY',
  ...NEVER,
  maxIPs: product.defaultMaxIPs,
  maxHWIDs: product.defaultMaxHWIDs,
  licensePlatform: null,
  licensePlatformOther: '',
  ownerPlatformId: '',
  ownerChatId: '',
  ownerChatUsername: '',
  state: 'ACTIVE' as const,
  notes: '',
  metadata: null,
  entitlements: null,
  entitlementsExpire: null,
  ips: [],
  hwids: [],
});
