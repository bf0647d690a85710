import { readFileSync } from 'node:fs';
import type { Config } from '../config.js';
import type { SinkSettings } from '../configSinks.js';
import { SettleError } from '../kernel/errors.js';
import { topicKeys, topics } from '../kernel/topics.js';
import { sharedLanes, type RoutedSink, type Routing } from '../outbox/routing.js';
import type { OutsideSink } from '../outbox/sink.js';
import { fetchSecret } from './secret.js';

/** The configured sinks that a route leads to. Throws CONFIG_INVALID for a route to nowhere, USAGE when there is none. */
export function routedSinks({ sinks, routes }: Config): string[] {
  const routed = new Set<string>();
  for (const key of topicKeys) {
    for (const name of routes[key] ?? []) {
      if (!Object.hasOwn(sinks, name)) throw unknownSink(`routes.${key}`, name, Object.keys(sinks));
      routed.add(name);
    }
  }
  if (routed.size === 0) {
    throw new SettleError('USAGE', 'No route leads to a sink, so nobody is told anything.', {
      details: { setting: 'routes' },
      next: 'Add a sink under sinks and its topics under routes in settle.yaml; see docs/outbox.md.',
    });
  }
  return [...routed].sort();
}

function unknownSink(setting: string, name: string, known: readonly string[]): SettleError {
  return new SettleError('CONFIG_INVALID', `${setting} names the sink "${name}", which is not configured.`, {
    details: { settings: [setting] },
    next: known.length === 0 ? `Add it under sinks in settle.yaml.` : `Configured: ${known.join(', ')}`,
  });
}

/**
 * Which sinks get what, by the whole configuration: a message is looked at once, for all of them, also by a relay that itself
 * delivers to some only.
 */
export function routingOf({ routes, sinks }: Config): Routing {
  const routed = (name: string): RoutedSink => {
    const { kind, since } = sinks[name] as SinkSettings;
    return { name, lanes: kind === 'amqp' || kind === 'webhook' ? sharedLanes : 1, since: since ?? null };
  };
  return { sinksOf: new Map(topicKeys.map((key) => [topics[key], [...new Set(routes[key] ?? [])].map(routed)])) };
}

/** Opens a configured sink; what it needs beyond its own code is loaded then. Connects to nothing yet. */
export async function openSink(name: string, settings: SinkSettings): Promise<OutsideSink> {
  const caOf = (ca: string | undefined): string | null => (ca === undefined ? null : readCertificates(name, ca));
  switch (settings.kind) {
    case 'amqp': {
      const { AmqpSink } = await import('../outbox/sinks/amqp.js');
      const { url, exchange, routingKey, inFlight, confirmTimeout, maxBytes } = settings;
      const password =
        settings.password === undefined ? null : await fetchSecret(settings.password, `sinks.${name}.password`);
      return new AmqpSink(name, {
        url,
        password,
        ca: caOf(settings.ca),
        exchange,
        routingKey,
        inFlightMax: inFlight,
        confirmMsMax: confirmTimeout,
        bytesMax: maxBytes,
      });
    }
    case 'webhook': {
      const { WebhookSink } = await import('../outbox/sinks/webhook.js');
      const { url, concurrency, timeout, maxBytes } = settings;
      const secret = await fetchSecret(settings.secret, `sinks.${name}.secret`);
      const ca = caOf(settings.ca);
      return new WebhookSink(name, { url, secret, ca, concurrency, timeoutMs: timeout, bytesMax: maxBytes });
    }
    case 'file': {
      const { FileSink } = await import('../outbox/sinks/file.js');
      return new FileSink(name, settings.path, settings.maxBytes);
    }
    case 'stdout': {
      const { StdoutSink } = await import('../outbox/sinks/stdout.js');
      return new StdoutSink(name, settings.maxBytes);
    }
  }
}

function readCertificates(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const setting = `sinks.${name}.ca`;
    throw new SettleError(
      'CONFIG_UNREADABLE',
      `${setting} names a file that cannot be read: ${(error as Error).message}`,
      { details: { setting }, next: `Mend the path in ${setting}.` },
    );
  }
}
