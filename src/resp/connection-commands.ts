import { show } from '../errors/show.js';
import type { CommandArguments, ConnectionCommand } from './command.js';
import { RespError, syntaxError, wrongArity } from './error-reply.js';
import { ok, type Reply } from './reply-writer.js';
import type { Session } from './session.js';

/** The Redis version whose protocol this service follows. Clients choose features by it. */
const REDIS_VERSION = '7.0.0';

/** Lines of INFO by section. Clients wait while `loading` is not 0. */
const INFO: Readonly<Record<string, readonly string[]>> = {
  SERVER: [
    ...['# Server', `redis_version:${REDIS_VERSION}`, 'server_name:unseen', 'redis_mode:standalone'],
    'arch_bits:64',
  ],
  PERSISTENCE: ['# Persistence', 'loading:0'],
  REPLICATION: ['# Replication', 'role:master', 'connected_slaves:0'],
  CLUSTER: ['# Cluster', 'cluster_enabled:0'],
};
const ALL_SECTIONS: readonly string[] = ['ALL', 'DEFAULT', 'EVERYTHING'];

const CONNECTION = { kind: 'connection' } as const;

/** The commands on the connection itself, by name. They don't touch data. */
export const CONNECTION_COMMANDS: Readonly<Record<string, ConnectionCommand>> = {
  HELLO: { ...CONNECTION, public: true, least: 0, run: hello },
  AUTH: { ...CONNECTION, public: true, least: 1, most: 2, run: auth },
  RESET: { ...CONNECTION, public: true, least: 0, most: 0, run: reset },
  QUIT: { ...CONNECTION, public: true, least: 0, run: quit },
  PING: { ...CONNECTION, least: 0, most: 1, run: ping },
  ECHO: { ...CONNECTION, least: 1, most: 1, run: (args) => bytes(args.bytes(0)) },
  SELECT: { ...CONNECTION, least: 1, most: 1, run: select },
  CLIENT: { ...CONNECTION, least: 1, run: client },
  COMMAND: { ...CONNECTION, least: 0, run: command },
  INFO: { ...CONNECTION, least: 0, run: info },
};

/** `HELLO [2|3 [AUTH user key] [SETNAME name]]`. If any part fails, nothing changes. */
async function hello(args: CommandArguments, session: Session): Promise<Reply> {
  const { write } = session;
  const version = args.count === 0 ? write.protocol : Number(args.text(0));
  if (version !== 2 && version !== 3) {
    throw new RespError('NOPROTO', `the protocol version must be 2 or 3, not ${show(args.text(0))}`);
  }
  let credentials: string | undefined;
  let { name } = session;
  for (let i = 1; i < args.count;) {
    const option = args.word(i);
    const values = option === 'AUTH' ? 2 : 1;
    if ((option !== 'AUTH' && option !== 'SETNAME') || i + values >= args.count) {
      throw syntaxError(`${show(args.text(i))} is not a complete option of HELLO`);
    }
    if (option === 'AUTH') credentials = args.text(i + 2);
    else name = clientName(args.text(i + 1));
    i += 1 + values;
  }
  if (credentials !== undefined) await session.authenticate(credentials, 'HELLO');
  await session.caller('HELLO');
  session.name = name;
  write.protocol = version;
  return () => {
    write.map(7);
    write.bulk('server');
    write.bulk('unseen');
    write.bulk('version');
    write.bulk(REDIS_VERSION);
    write.bulk('proto');
    write.integer(version);
    write.bulk('id');
    write.integer(session.id);
    write.bulk('mode');
    write.bulk('standalone');
    write.bulk('role');
    write.bulk('master');
    write.bulk('modules');
    write.array(0);
  };
}

/** `AUTH key` or `AUTH name key`. The key alone identifies the caller, so the name may be anything. */
async function auth(args: CommandArguments, session: Session): Promise<Reply> {
  await session.authenticate(args.text(args.count - 1), 'AUTH');
  return ok;
}

function reset(_: CommandArguments, session: Session): Reply {
  session.reset();
  return (write) => write.simple('RESET');
}

function quit(_: CommandArguments, session: Session): Reply {
  session.ending = true;
  return ok;
}

function ping(args: CommandArguments): Reply {
  return args.count === 0 ? (write) => write.simple('PONG') : bytes(args.bytes(0));
}

function select(args: CommandArguments): Reply {
  if (args.text(0) === '0') return ok;
  throw new RespError('ERR', `the only database is 0, not ${show(args.text(0))}`);
}

function client(args: CommandArguments, session: Session): Reply {
  const subcommand = args.word(0);
  const needs = (count: number): void => {
    if (args.count !== count + 1) throw wrongArity(`CLIENT|${subcommand}`);
  };
  switch (subcommand) {
    case 'SETNAME':
      needs(1);
      session.name = clientName(args.text(1));
      return ok;
    case 'GETNAME':
      needs(0);
      return session.name === '' ? (write) => write.null() : (write) => write.bulk(session.name);
    case 'ID':
      needs(0);
      return (write) => write.integer(session.id);
    case 'INFO':
      needs(0);
      return (write) => write.bulk(clientInfo(session));
    // Names of client libraries, and hints about memory: accepted, but ignored.
    case 'SETINFO':
      needs(2);
      return ok;
    case 'NO-EVICT':
    case 'NO-TOUCH':
      needs(1);
      return ok;
    default:
      throw new RespError('ERR', `CLIENT ${show(args.text(0))} is not supported`);
  }
}

/** Older versions of redis-py fail if a field is absent, so figures that this service doesn't have are 0. */
function clientInfo({ id, remote, ageSeconds, name, write }: Session): string {
  const buffers = 'qbuf=0 qbuf-free=0 argv-mem=0 obl=0 oll=0 omem=0 tot-mem=0';
  return (
    `id=${id} addr=${remote} name=${name} age=${ageSeconds} idle=0 db=0 sub=0 psub=0 multi=-1 ` +
    `${buffers} resp=${write.protocol}\n`
  );
}

function clientName(name: string): string {
  if (/^[!-~]{0,128}$/.test(name)) return name;
  throw new RespError('ERR', `a client name must be at most 128 visible ASCII characters, not ${show(name)}`);
}

/** Clients ask for command descriptions, but work without them. */
function command(args: CommandArguments): Reply {
  const subcommand = args.word(0);
  if (subcommand === 'COUNT') return (write) => write.integer(0);
  return subcommand === 'DOCS' ? (write) => write.map(0) : (write) => write.array(0);
}

function info(args: CommandArguments): Reply {
  const asked = args.all().map((section) => section.toUpperCase());
  const isWhole = asked.length === 0 || asked.some((section) => ALL_SECTIONS.includes(section));
  const sections = Object.entries(INFO).filter(([name]) => isWhole || asked.includes(name));
  const text = sections.map(([, lines]) => lines.map((line) => `${line}\r\n`).join('')).join('\r\n');
  return (write) => write.bulk(text);
}

function bytes(text: string): Reply {
  return (write) => write.bytes(text);
}
