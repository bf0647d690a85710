import { Eta } from 'eta';
import type { Verdict } from './verdict.js';
import type { HtmlSection } from './reportHtmlTable.js';
import { css } from './reportHtmlStyle.js';

// `<%= %>` escapes; of the facts only the body of a chart, which has escaped its texts itself, goes through `<%~ %>`.

/** A captioned table that scrolls in its own box on a narrow screen. Data: see `HtmlTable`. */
const tableTemplate = `
<div class="scroll" role="region" aria-label="<%= it.caption %>" tabindex="0">
<table class="<%= it.groups ? 'grouped' : '' %><%= it.hasSum ? ' summed' : '' %><%= it.isNarrow ? ' narrow' : '' %><%= it.columns.length >= 5 ? ' dense' : '' %>">
<caption><%= it.caption %></caption>
<thead>
<% if (it.groups) { %><tr><td></td><% it.groups.forEach((group) => { %><th scope="colgroup" colspan="<%= group.span %>"><%= group.title %></th><% }) %></tr>
<% } %><tr><% it.columns.forEach((column) => { %><th scope="col"<% if (column.align === 'right') { %> class="n"<% } %>><%= column.title %></th><% }) %></tr>
</thead>
<tbody>
<% it.rows.forEach((row) => { %><tr><% row.forEach((cell, at) => { const kind = it.columns[at].align === 'right' ? ' class="n"' : it.columns[at].wraps ? ' class="w"' : ''; %><% if (at === 0) { %><th scope="row"<%~ kind %>><%= cell %></th><% } else { %><td<%~ kind %>><%= cell %></td><% } %><% }) %></tr>
<% }) %></tbody>
</table>
</div>
<% if (it.note) { %><p class="note"><%= it.note %></p><% } %>`;

/** Data: see `Chart`, and a name that no other chart of the page has. */
const chartTemplate = `<figure>
<figcaption><%= it.title %></figcaption>
<svg role="img" aria-labelledby="<%= it.name %>t <%= it.name %>d" viewBox="0 0 <%= it.width %> <%= it.height %>" width="<%= it.width %>" height="<%= it.height %>">
<title id="<%= it.name %>t"><%= it.title %></title><desc id="<%= it.name %>d"><%= it.description %></desc>
<g aria-hidden="true"><%~ it.body %></g>
</svg>
</figure>`;

const pageTemplate = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Settlement report <%= it.of %></title>
<style><%~ it.css %></style>
</head>
<body>
<main>
<header>
<p class="brand">Settlement report</p>
<h1><%= it.title %></h1>
<p class="sub"><%= it.subtitle %></p>
</header>
<section class="verdict <%= it.verdict.grade %>" aria-label="Verdict">
<p class="sign" aria-hidden="true"><%= it.sign %></p>
<div><p class="badge"><%= it.status %></p>
<p class="headline"><%= it.verdict.headline %></p><% if (it.verdict.needs.length > 0) { %><p class="left"><%= it.verdict.needs.map((need) => need.text).join(' ') %></p><% } %></div>
</section>
<dl class="figures">
<% it.figures.forEach((figure) => { %><div><dt><%= figure.title %></dt><dd><%= figure.value %></dd><% if (figure.note) { %><dd class="proof"><%= figure.note %></dd><% } %></div>
<% }) %></dl>
<% it.sections.forEach((section) => { %><section>
<h2><%= section.title %></h2>
<% if (section.text) { %><p class="lead"><%= section.text %></p>
<% } %><% if (section.needs) { %><ol class="needs"><% section.needs.forEach((need) => { %><li><span><%= need.text %></span> <code><%= need.command %></code></li>
<% }) %></ol>
<% } %><div<% if (section.sideBySide) { %> class="side"<% } %>><% section.blocks.forEach((block) => { %><% if (block.charts) { %><div class="pair"><div class="charts"><% block.charts.forEach((chart) => { %><%~ include('@chart', chart) %><% }) %></div><div><%~ include('@table', block.table) %></div></div><% } else { %><div><%~ include('@table', block.table) %></div><% } %><% }) %></div>
</section>
<% }) %><section>
<h2>Where this comes from</h2>
<dl class="provenance">
<% it.provenance.forEach((fact) => { %><div><dt><%= fact.title %></dt><dd><%= fact.value %></dd></div>
<% }) %></dl>
</section>
<footer><p>Drawn from stored facts alone: the same facts give the same file, byte for byte.</p></footer>
</main>
</body>
</html>
`;

export interface HtmlPage {
  /** "2026-11-29" or "2026-11". */
  of: string;
  title: string;
  subtitle: string;
  status: string;
  verdict: Verdict;
  figures: { title: string; value: string; note?: string }[];
  sections: HtmlSection[];
  provenance: { title: string; value: string }[];
}

const signs = { good: '✓', attention: '!', bad: '✕' } as const;

/** One self-contained HTML file: no script, no network, every value escaped. Sections with nothing in them are left out. */
export function pageHtml(page: HtmlPage): string {
  const eta = new Eta({ autoEscape: true });
  eta.loadTemplate('@table', tableTemplate);
  eta.loadTemplate('@chart', chartTemplate);
  let charts = 0;
  const sections = page.sections
    .filter(({ blocks, needs = [] }) => blocks.length + needs.length > 0)
    .map((section) => ({
      ...section,
      blocks: section.blocks.map((block) => ({
        ...block,
        charts: block.charts?.map((chart) => ({ ...chart, name: `chart${String((charts += 1))}` })),
      })),
    }));
  return eta.renderString(pageTemplate, { ...page, sections, css, sign: signs[page.verdict.grade] });
}
