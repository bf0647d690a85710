import { readFileSync } from 'node:fs';
import type { Config } from '../config.js';
import type { ChainSettings } from '../configDeposits.js';
import type { SinkSettings } from '../configSinks.js';
import { fail, ok, warn, type Finding } from '../kernel/finding.js';
import { probeMsMax, type Probe } from '../doctor/probe.js';
import { reach } from '../doctor/reach.js';
import { SettleError } from '../kernel/errors.js';
import { printable } from '../kernel/printable.js';
import { namedSecrets, routedNames } from './doctorConfig.js';
import { fetchSecret } from './secret.js';

/** A certificate that ends sooner is worth a look. */
const certificateDays = 14;
const dayMs = 86_400_000;

/**
 * A look at every host and every secret that the settings name and that is in use. Nothing is submitted, published or booked:
 * hosts are connected to, a broker is asked for its exchange, a node for its chain id.
 */
export function networkProbes(config: Config, now: () => Date): Probe[] {
  const routed = routedNames(config);
  return [
    ...Object.entries(config.sinks)
      .filter(([name]) => routed.has(name))
      .flatMap(([name, sink]) => sinkProbe(name, sink, now)),
    ...Object.entries(config.channels).flatMap(([name, channel]) =>
      channel.kind === 'http' || channel.kind === 'stripe'
        ? [hostProbe(`channel:${name}`, `channels.${name}`, channel.url, 'ca' in channel ? channel.ca : undefined, now)]
        : [],
    ),
    ...Object.entries(config.chains)
      .filter(([, { enabled }]) => enabled)
      .map(([name, chain]) => chainProbe(name, chain)),
    ...secretProbes(config),
  ];
}

function sinkProbe(name: string, sink: SinkSettings, now: () => Date): Probe[] {
  if (sink.kind === 'webhook') return [hostProbe(`sink:${name}`, `sinks.${name}`, sink.url, sink.ca, now)];
  return sink.kind === 'amqp' ? [brokerProbe(name, sink)] : [];
}

/** Whether a host is known, there, and proves who it is. */
function hostProbe(name: string, setting: string, text: string, ca: string | undefined, now: () => Date): Probe {
  const url = new URL(text);
  return {
    name,
    what: `${url.host} (${setting})`,
    fix: `Check the network and the firewall up to ${url.host}.`,
    look: async (signal) => {
      const certificates = ca === undefined ? null : readOrRefusal(ca, `${setting}.ca`, name);
      if (certificates !== null && typeof certificates !== 'string') return certificates;
      const outcome = await reach(url, certificates, signal);
      if ('problem' in outcome) return fail(name, `${setting}: ${outcome.problem}`, outcome.fix);
      const found = `${url.host} answers in ${String(outcome.ms)} ms`;
      if (outcome.secure === null) return ok(name, `${found}, on this machine`);
      const { protocol, validTo } = outcome.secure;
      const days = Math.floor((validTo.getTime() - now().getTime()) / dayMs);
      const proven = `${found} over ${protocol}; its certificate is good for ${String(days)} days`;
      return days >= certificateDays
        ? ok(name, proven)
        : warn(name, proven, 'Have the certificate of that host renewed.');
    },
  };
}

function readOrRefusal(file: string, setting: string, name: string): string | Finding {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return fail(name, `${setting} names a file that cannot be read (${codeOf(error)})`, `Mend the path in ${setting}.`);
  }
}

/** Whether the broker lets us in and has the exchange. Publishes nothing. */
function brokerProbe(name: string, sink: Extract<SinkSettings, { kind: 'amqp' }>): Probe {
  const [own, setting, { host }] = [`sink:${name}`, `sinks.${name}`, new URL(sink.url)];
  return {
    name: own,
    what: `the broker ${host} (${setting})`,
    fix: `Check the network and the firewall up to ${host}.`,
    look: async (signal) => {
      const certificates = sink.ca === undefined ? null : readOrRefusal(sink.ca, `${setting}.ca`, own);
      if (certificates !== null && typeof certificates !== 'string') return certificates;
      const startedAt = performance.now();
      try {
        const { AmqpLink } = await import('../outbox/sinks/amqpLink.js');
        const password =
          sink.password === undefined ? null : await fetchSecret(sink.password, `${setting}.password`, signal);
        const { url, exchange, inFlight, confirmTimeout } = sink;
        const link = await AmqpLink.open({
          ...{ url, password, ca: certificates, exchange, inFlightMax: inFlight, confirmMsMax: confirmTimeout },
          routingKeyOf: () => '',
          connectMsMax: probeMsMax,
        });
        await link.close();
      } catch (error) {
        if (error instanceof SettleError) return fail(own, error.message, error.next);
        const why = printable((error as Error).message).slice(0, 200);
        return fail(own, `the broker ${host} (${setting}) does not let us in: ${why}`, brokerFix(why, host, setting));
      }
      const place = sink.exchange === '' ? 'the default exchange' : `the exchange ${sink.exchange}`;
      return ok(
        own,
        `the broker ${host} answers in ${String(Math.round(performance.now() - startedAt))} ms and has ${place}`,
      );
    },
  };
}

function brokerFix(why: string, host: string, setting: string): string {
  if (/NOT[-_ ]FOUND|404/i.test(why)) return `Declare the exchange on the broker, or mend ${setting}.exchange.`;
  if (/ACCESS[-_ ]REFUSED|403/i.test(why))
    return `Mend the user in ${setting}.url or the secret in ${setting}.password.`;
  return `Check that the broker runs, and the network up to ${host}.`;
}

/** Whether a node is of the chain that is configured. What its URL holds is a secret, and is not told. */
function chainProbe(name: string, { chainId, url }: ChainSettings): Probe {
  const [own, setting] = [`chain:${name}`, `chains.${name}`];
  return {
    name: own,
    what: `the node of ${setting}`,
    fix: `Check what ${setting}.url names, and the network up to that node.`,
    look: async (signal) => {
      const address = await fetchSecret(url, `${setting}.url`, signal).catch(refusalOf(own));
      if (typeof address !== 'string') return address;
      if (!URL.canParse(address) || !/^https?:\/\//.test(address)) {
        return fail(own, `what ${setting}.url names is not an http or https URL`, `Mend what ${setting}.url names.`);
      }
      const [{ askChainId }, { NodeTrouble }] = await Promise.all([
        import('../deposits/chainNode.js'),
        import('../deposits/rpcTransport.js'),
      ]);
      try {
        const told = await askChainId(address, { timeoutMs: probeMsMax, signal });
        return told === BigInt(chainId)
          ? ok(own, `its node is of chain ${String(told)}`)
          : fail(
              own,
              `its node is of chain ${String(told)}, and ${setting}.chainId is ${String(chainId)}`,
              `Name a node of chain ${String(chainId)} in ${setting}.url, or mend ${setting}.chainId.`,
            );
      } catch (error) {
        if (!(error instanceof NodeTrouble)) throw error;
        return fail(
          own,
          `the node of ${setting} ${error.detail}`,
          `Check what ${setting}.url names, and the network up to it.`,
        );
      }
    },
  };
}

/** Whether what a setting names can be fetched. The secret itself is let go at once. */
function secretProbes(config: Config): Probe[] {
  return namedSecrets(config)
    .filter(({ inUse }) => inUse)
    .map(({ setting, place }) => {
      const name = `secret:${setting}`;
      return {
        name,
        what: `what fetches ${setting}`,
        fix: `Mend ${setting} in settle.yaml, or what it names.`,
        look: async (signal: AbortSignal) => {
          const found = await fetchSecret(place, setting, signal).catch(refusalOf(name));
          return typeof found === 'string' ? ok(name, 'is there') : found;
        },
      };
    });
}

function refusalOf(name: string): (error: unknown) => Finding {
  return (error) => {
    if (!(error instanceof SettleError)) throw error;
    return fail(name, error.message, error.next);
  };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'cannot be read';
}
