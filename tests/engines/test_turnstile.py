"""Who asks first is next."""

import threading

import pytest

from untemplate.engines.turnstile import Turnstile


def test_threads_get_in_one_at_a_time_and_in_order_of_arrival():
    turnstile, order, inside = Turnstile(), [], []
    threads = []

    def enter(name):
        with turnstile:
            inside.append(name)
            order.append(name)
            assert inside == [name]
            inside.remove(name)

    with turnstile:
        for name in range(20):
            thread = threading.Thread(target=enter, args=(name,))
            threads.append(thread)
            thread.start()
            while turnstile.waiting <= name:
                pass
    for thread in threads:
        thread.join()
    assert order == list(range(20))
    assert turnstile.waiting == 0


def test_an_error_inside_opens_it_again():
    turnstile = Turnstile()
    with pytest.raises(KeyError), turnstile:
        raise KeyError
    with turnstile:
        pass
