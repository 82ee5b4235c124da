import type { Filter } from '#store';
import type { Principal } from '../request/principal.js';
import type { Scope } from '../request/scope.js';
import type { DiscoverOptions } from '../visited-sets/urls.service.js';
import type { WaitingClient } from '../visited-sets/waiting-leases.js';
import type { RespCommand } from './command-parser.js';
import { wrongArity } from './error-reply.js';
import type { Reply, ReplyWriter } from './reply-writer.js';
import type { Session } from './session.js';

/** The number of arguments that a command takes, without its name. */
export interface Arity {
  readonly least: number;
  /** Absent: only the connection's limit applies. */
  readonly most?: number;
}

/** The types that `TYPE` returns, as Redis and RedisBloom name them. Each type has its own commands. */
export type KeyType = 'set' | 'MBbloom--' | 'MBbloomCF';

/** The service's result for one item (see ItemsService and UrlsService), or an error if the item couldn't be added. */
export type ItemResult = string | number | boolean | Error;

/** A batch's results. One call's results are at indexes `from` to `to`, exclusive. */
export interface ItemResults {
  readonly all: readonly ItemResult[];
  readonly from: number;
  readonly to: number;
}

/** The arguments before a command's items. */
export interface ItemsHead {
  /** Index of the first item among the arguments. */
  readonly firstItem: number;
  readonly options?: UrlOptions;
}

/** The options of a command on URLs. */
export interface UrlOptions extends DiscoverOptions {
  /** The operation key, as an `Idempotency-Key`. */
  readonly key: string | undefined;
  /** The options in the body of the same request over HTTP. */
  readonly body: object;
}

/** A command on one filter's items. Consecutive calls of one command on one filter run as one batch. */
export interface ItemCommand extends Arity {
  readonly kind: 'items';
  readonly type: KeyType;
  readonly verb: 'add' | 'check' | 'remove' | 'count' | 'discover';
  /** Adds only absent items, even if the filter counts copies of an item. */
  readonly onlyAbsent?: true;
  /** Accepts only URLs in visited sets, and replies with HTTP's results, such as `invalid`. */
  readonly urls?: true;
  /** Reads the arguments before the items. Throws RespError for invalid options. */
  readonly head: (args: CommandArguments) => ItemsHead;
  /** The reply has a value for each item, so items can fail individually. */
  readonly each?: true;
  readonly answer: (write: ReplyWriter, results: ItemResults) => void;
}

/** The context for a command that runs alone. */
export interface DataCall {
  readonly caller: Principal;
  /** The command's name, for operations and the audit log. */
  readonly command: string;
  /** The client, for commands that wait. */
  readonly client: WaitingClient;
}

/** A command that runs alone, on whole filters or on a queue. */
export interface DataCommand extends Arity {
  readonly kind: 'data';
  readonly access: Scope;
  readonly run: (args: CommandArguments, call: DataCall) => Promise<Reply>;
  /** The names that the audit log shows, for commands that need the scope `admin`. */
  readonly targets?: (args: CommandArguments) => string[];
}

/** A command on the connection itself. */
export interface ConnectionCommand extends Arity {
  readonly kind: 'connection';
  /** It needs no credentials. */
  readonly public?: true;
  readonly run: (args: CommandArguments, session: Session) => Promise<Reply> | Reply;
}

export type Command = ItemCommand | DataCommand | ConnectionCommand;

/** A command's arguments, without its name. */
export class CommandArguments {
  constructor(private readonly command: RespCommand) {}

  get count(): number {
    return this.command.span.length / 2 - 1;
  }

  /** The command's length in bytes. */
  get length(): number {
    const { span } = this.command;
    return (span.at(-1) as number) - (span[0] as number);
  }

  /** Argument `index` as UTF-8. */
  text(index: number): string {
    return this.decoded(index, 'utf8');
  }

  /** Argument `index` as Latin-1: one character per byte. */
  bytes(index: number): string {
    return this.decoded(index, 'latin1');
  }

  /** Argument `index` in upper case, as an option name. Empty if there is no such argument. */
  word(index: number): string {
    return index < this.count ? this.bytes(index).toUpperCase() : '';
  }

  /** All arguments, as UTF-8. */
  all(): string[] {
    return Array.from({ length: this.count }, (_, index) => this.text(index));
  }

  private decoded(index: number, encoding: 'utf8' | 'latin1'): string {
    const { bytes, span } = this.command;
    return bytes.toString(encoding, span[2 * index + 2], span[2 * index + 3]);
  }
}

/** Throws RespError if a command can't have that many arguments. */
export function checkArity(name: string, { least, most = Infinity }: Arity, count: number): void {
  if (count < least || count > most) throw wrongArity(name);
}

/** A filter's type, as `TYPE` returns it. */
export function keyTypeOf({ kind, type, semantics }: Filter): KeyType {
  if (kind === 'visited-set') return 'set';
  if (type === 'standard') return 'MBbloom--';
  return semantics === 'multiset' ? 'MBbloomCF' : 'set';
}

/** Each type's commands, for errors. */
export const COMMANDS_OF: Readonly<Record<KeyType, string>> = {
  set: 'SADD, SREM, SISMEMBER, SMISMEMBER and SCARD, or UNSEEN.* on a visited set',
  'MBbloom--': 'the commands BF.*',
  MBbloomCF: 'the commands CF.*',
};
