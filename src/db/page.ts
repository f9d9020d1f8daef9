/** A part of a list: at most `limit` rows, from behind the one with the id `after`. */
export interface Page {
  limit: number;
  after?: number | undefined;
}
