import { parentPort } from 'node:worker_threads';
import { SMTPServer } from 'smtp-server';

/** A mail server that takes each mail, and counts them. */

let taken = 0;

const server = new SMTPServer({
  logger: false,
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData(stream, _session, done) {
    stream.resume().on('end', () => {
      taken++;
      done();
    });
  },
});
// Without a listener, a connection that breaks off ends the process.
server.on('error', () => undefined);
const listening = server.listen(0, '127.0.0.1', () => {
  const address = listening.address();
  parentPort?.postMessage(typeof address === 'object' ? address?.port : 0);
});

parentPort?.on('message', () => {
  parentPort?.postMessage(taken);
});
