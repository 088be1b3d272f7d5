/** How a report looks, in a light and in a dark room and on paper. */

/** The style sheet. */
export const reportStyle = `
:root{color-scheme:light dark;--ground:#fbfbfa;--raised:#fff;--ink:#1d2127;--faint:#656d78;--edge:#e2e4e8;
--accent:#1d5fbf;--band:#1d5fbf2b;--good:#17703c;--poor:#a8301f;--model:#eef4fd;--found:#f4f2ea;
--p1:#fdf0c3;--p2:#fbd9a5;--p3:#f8b596;--p4:#f0918d}
@media (prefers-color-scheme:dark){:root{--ground:#14161a;--raised:#1c1f25;--ink:#e4e7ec;--faint:#9aa3af;
--edge:#31363f;--accent:#79b0ff;--band:#79b0ff33;--good:#6cc98d;--poor:#f08a7a;--model:#1d2838;--found:#26251f;
--p1:#4a4118;--p2:#5e4216;--p3:#70371f;--p4:#7d2b2b}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 48px}
h1{font-size:26px;line-height:1.25;margin:0;overflow-wrap:anywhere}
h2{font-size:17px;margin:36px 0 12px}
.kicker,.about,.legend,footer,i{color:var(--faint);font-style:normal}
.kicker{margin:0 0 4px;font-size:13px;letter-spacing:.04em;text-transform:uppercase}
.about{margin:6px 0 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:24px 0 0;padding:0}
.tiles div{background:var(--raised);border:1px solid var(--edge);border-radius:8px;padding:12px 14px}
.tiles dt{color:var(--faint);font-size:13px}
.tiles dd{margin:2px 0 0;font-size:22px;font-weight:600;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tiles small{display:block;font-size:12px;font-weight:400;color:var(--faint)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:12px}
figure{margin:0;background:var(--raised);border:1px solid var(--edge);border-radius:8px;padding:10px 12px 6px}
figcaption{display:flex;justify-content:space-between;gap:8px;font-size:13px}
figcaption span{overflow-wrap:anywhere}
figcaption b{font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto;margin-top:4px}
svg text{fill:var(--faint);font-size:10px;font-family:inherit}
.grid{stroke:var(--edge);fill:none}
.line{stroke:var(--accent);stroke-width:1.75;fill:none;stroke-linejoin:round}
.band{fill:var(--band)}.dot{fill:var(--accent)}
svg rect{fill:transparent}svg rect:hover{fill:var(--band)}
.wide{overflow-x:auto;background:var(--raised);border:1px solid var(--edge);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{padding:5px 14px;text-align:right;border-top:1px solid var(--edge);font-variant-numeric:tabular-nums}
thead th{border-top:0;color:var(--faint);font-weight:500}
th:first-child{text-align:left}
tbody th{font-weight:400;overflow-wrap:anywhere}
.options td{text-align:left;font-family:ui-monospace,monospace;font-size:13px;overflow-wrap:anywhere}
.options th{white-space:nowrap}
details>summary{cursor:pointer}
.more{margin-top:12px}.more>summary{color:var(--accent);margin-bottom:8px}
.trace{background:var(--raised);border:1px solid var(--edge);border-radius:8px;margin:8px 0;padding:0 14px}
.trace>summary{display:flex;gap:12px;justify-content:space-between;align-items:baseline;padding:10px 0;list-style:none}
.trace>summary::-webkit-details-marker{display:none}
.trace>summary::before{content:"▸";color:var(--faint)}
.trace[open]>summary::before{content:"▾"}
.question{flex:1;overflow-wrap:anywhere}
.scores{white-space:nowrap;font-size:13px}
.badge{border:1px solid currentColor;border-radius:99px;padding:1px 9px;font-weight:500}
.good{color:var(--good)}.poor{color:var(--poor)}
.outcome{margin:0 0 10px;font-size:14px}
section{display:grid;grid-template-columns:64px minmax(0,1fr);gap:10px;margin:8px 0 12px}
h4{margin:8px 0 0;font-size:12px;font-weight:500;color:var(--faint);text-align:right}
.text,section details{border-radius:8px;padding:8px 12px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:14px}
section details>summary{color:var(--faint)}
section details .text{padding:6px 0 0}
.prompt>.text,.prompt>details{border:1px dashed var(--edge)}
.policy>.text{background:var(--model)}
.observation>.text{background:var(--found)}
.legend{font-size:13px;line-height:2}
.legend span{border:1px solid var(--edge);border-radius:4px;padding:1px 6px}
.p1,.p2,.p3,.p4{border-radius:2px;color:var(--ink)}
.p1{background:var(--p1)}.p2{background:var(--p2)}.p3{background:var(--p3)}.p4{background:var(--p4)}
footer{margin-top:40px;font-size:13px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (max-width:600px){section{grid-template-columns:1fr;gap:2px}h4{text-align:left}main{padding:20px 12px}
.trace>summary{flex-wrap:wrap}th,td{padding:5px 9px}.options th{white-space:normal}}
@media print{figure,.trace,.wide,section{break-inside:avoid}}
`;
