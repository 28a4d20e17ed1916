"""What tests of the page do with it: wait, read its run, drag with the mouse."""


def until(page, expression):
    """Wait until an expression is true; by asking again, since the page allows no evaluation of text."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{expression} did not become true")


def run_of(page):
    """The numbers and words of the run on the page, without its arrays, which took half a minute to cross for 2,000."""
    return page.evaluate("Object.fromEntries(Object.entries(reluflow.run()).filter(([, v]) => typeof v !== 'object'))")


def box_of(page, selector=".plane"):
    return page.locator(selector).bounding_box()


def drag(page, start, end, *, steps=6, selector=".plane"):
    box = box_of(page, selector)
    page.mouse.move(box["x"] + start[0], box["y"] + start[1])
    page.mouse.down()
    page.mouse.move(box["x"] + end[0], box["y"] + end[1], steps=steps)
    page.mouse.up()
