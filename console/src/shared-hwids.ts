/**
 * Hardware IDs that many machines share: version 1.0.3 of the Java wrapper in the field makes its value of the user and
 * the operating system alone. Each of these is sent by all Linux servers that run as one of the usual users.
 */
const USERS: ReadonlyMap<string, string> = new Map([
  ['22a5a71ebb6bfc6cb2df491f975be0f0', 'root'],
  ['73d6340433d67ba2533045cc1b81328d', 'container'],
  ['574986f390d9c0d036ef1ae6ae9b7531', 'minecraft'],
  ['882c6bb506d3ef9146c8dc45aa174fc5', 'ubuntu'],
  ['b4ebd271dd8864c3e43bd668a3d771f0', 'pterodactyl'],
  ['72718516c8d00d92b99812f32b66f09c', 'user'],
]);

/** The user whose servers all send a hardware ID; undefined if it is not known to be shared. */
export const sharedBy = (hwid: string): string | undefined => USERS.get(hwid.trim().toLowerCase());
