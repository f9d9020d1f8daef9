import type { Names } from './load.ts';
import type { State } from './state.ts';

/** The parts of what was read for several requests that belong together (9). */

/** Names, of which some are joined. */
class Groups {
  readonly #parents = new Map<string, string>();

  /** A name for all that are joined with a name. */
  rootOf(name: string): string {
    let root = name;
    for (let next = this.#parents.get(root); next !== undefined; next = this.#parents.get(root)) {
      root = next;
    }
    return root;
  }

  join(one: string, others: readonly string[]): void {
    for (const other of others) {
      const [root, joined] = [this.rootOf(one), this.rootOf(other)];
      if (root !== joined) this.#parents.set(joined, root);
    }
  }
}

const subject = (id: string): string => JSON.stringify([id]);
const purchase = (item: string, reference: string): string => JSON.stringify([item, reference]);

/**
 * The states for the notices of requests: the trees that they name, with all that hangs together with them. Notices about
 * different ones do not see each other's changes.
 *
 * @param state what was read for all of them
 * @param requests the names in each
 * @returns the state for each; undefined if it hangs together with that of an earlier one
 */
export function statesOf(state: State, requests: readonly Names[]): (State | undefined)[] {
  const groups = new Groups();
  requests.forEach(({ subjects, purchases }, index) => {
    groups.join(String(index), [
      ...subjects.map(subject),
      ...purchases.map(([item, reference]) => purchase(item, reference)),
    ]);
  });
  for (const { id, parent } of state.subjects) {
    groups.join(subject(id), parent === null ? [] : [subject(parent)]);
  }
  const nameOf = ({ purchase: { item, reference } }: State['purchases'][number]): string =>
    purchase(item, reference);
  for (const one of state.purchases) {
    const { orderId, licenseId } = one.purchase;
    groups.join(nameOf(one), [
      ...(orderId === null ? [] : [subject(orderId)]),
      ...(licenseId === null ? [] : [`license ${licenseId}`]),
    ]);
  }
  const subjects = Map.groupBy(state.subjects, ({ id }) => groups.rootOf(subject(id)));
  const purchases = Map.groupBy(state.purchases, (one) => groups.rootOf(nameOf(one)));
  const taken = new Set<string>();
  return requests.map((_, index) => {
    const root = groups.rootOf(String(index));
    if (taken.has(root)) return undefined;
    taken.add(root);
    return {
      subjects: subjects.get(root) ?? [],
      purchases: purchases.get(root) ?? [],
      license: state.license,
    };
  });
}
