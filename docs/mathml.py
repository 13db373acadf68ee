"""Formulas as MathML: browsers typeset it themselves, so that a page needs neither JavaScript nor a network.

TeX that the converter does not know comes out of it unchanged, backslash and all; that is a warning, which fails the
build.
"""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)

BAR = re.compile(r'<mo(?: stretchy="false")?>(&#x0007C;|&#x02016;)</mo>')  # browsers set it as "divides", with spaces
PRIME = re.compile(r"<msup>(<m(?:i|text)>[^<]*</m(?:i|text)>)<mi>&#x02032;</mi></msup>")  # raised as it is
# Names of functions stand a little apart from what they are applied to.
FUNCTION = re.compile(r"(<m[io]>(?:log|exp|min|max|tr|diag)</m[io]>)(?!\s*<mo stretchy)")


def mathml(tex, display):
    """TeX as a MathML element; environments of lines are aligned, as browsers understand it."""
    plain = tex.replace("{aligned}", "{align*}")
    found = convert(plain, display=display)
    found = BAR.sub(r'<mo stretchy="false" lspace="0.05em" rspace="0.05em">\1</mo>', found)
    found = PRIME.sub(r'\1<mo lspace="0" rspace="0">&#x02032;</mo>', found)
    found = re.sub(r'columnalign="(\w+)"', r'style="text-align: \1"', found)
    return FUNCTION.sub(r'\1<mspace width="0.17em" />', found.replace("<mi>&</mi>", "<mi>&amp;</mi>"))


def write(translator, node, display):
    markup = mathml(node.astext(), display)
    if "\\" in markup or "&amp;" in markup:
        logger.warning(f"no MathML for {node.astext()!r}", location=node)
    translator.body.append(markup if display == "inline" else f'<div class="math">{markup}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(lambda translator, node: write(translator, node, "inline"), None),
        block_renderers=(lambda translator, node: write(translator, node, "block"), None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
