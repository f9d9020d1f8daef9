import type { BatchItem } from 'drizzle-orm/batch';
import type { Change } from './change-log';
import type { Database } from './client';

/** The context of a change by an administrator. */
export interface Writer {
  db: Database;
  /** The first statement of the batch. It fails the batch if the sender may no longer do this. */
  guard(): BatchItem<'sqlite'>;
  /**
   * Takes what the statements of the change log returned.
   *
   * @param unlogged further changes that this isolate must see at once
   */
  changed(changes: readonly Change[], unlogged?: readonly Omit<Change, 'seq'>[]): void;
}
