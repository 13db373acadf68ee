"""The pool of threads: tasks of tasks, errors, interruption, and how many threads work."""

import threading
import time
from contextlib import closing

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

import classwise as cw
from classwise.engines import BLAS, in_threads, kept_threads
from classwise.engines.pool import Stopped, ThreadPool
from classwise.kernels import OURS, with_jobs

X, y = load_iris(return_X_y=True)


class Busy:
    """Work that notes how many threads are at it."""

    def __init__(self):
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def __call__(self, number):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.003)
        with self.lock:
            self.now -= 1
        return number


class TestPool:
    def test_results_are_in_the_order_of_the_tasks(self):
        with closing(ThreadPool(4)) as pool:
            assert pool.map(lambda i: i * i, range(50)) == [i * i for i in range(50)]
            assert pool.map(str, []) == []

    def test_a_task_may_hand_out_tasks_and_idle_threads_take_them(self):
        work = Busy()
        with closing(ThreadPool(4)) as pool:
            sums = pool.map(lambda count: sum(pool.map(work, range(count))), [40, 2, 1])
        assert sums == [780, 1, 0]
        assert 2 < work.most <= 6  # one that goes on after waiting may be one too many, for the rest of a task

    def test_tasks_of_tasks_of_tasks(self):
        def count(depth):
            return 1 if depth == 0 else sum(pool.map(count, [depth - 1] * 3))

        with closing(ThreadPool(3)) as pool:
            assert count(5) == 3**5

    @pytest.mark.parametrize("size", [1, 4])
    def test_the_first_error_is_raised_and_the_pool_goes_on(self, size):
        def work(i):
            if i >= 3:
                raise ValueError(i)
            return i

        with closing(ThreadPool(size)) as pool:
            with pytest.raises(ValueError, match=r"^3$"):
                pool.map(lambda _: pool.map(work, range(9)), range(2))
            assert pool.map(work, range(3)) == [0, 1, 2]

    def test_an_interruption_ends_tasks_of_tasks_and_leaves_no_thread(self):
        before, begun = threading.active_count(), []

        def work(i):
            begun.append(i)
            time.sleep(0.005)

        def step():
            raise KeyboardInterrupt

        def many(count):
            if threading.current_thread() is caller:  # it has to be free to call step as soon as a task is done
                time.sleep(0.02)
            else:
                pool.map(work, range(count))

        caller = threading.current_thread()
        with pytest.raises(KeyboardInterrupt), closing(ThreadPool(3)) as pool:
            pool.map(many, [1, 1000, 1000, 1000], step)
        assert len(begun) < 100
        assert threading.active_count() == before

    def test_an_interruption_is_raised_not_what_follows_from_it(self):
        """Whichever tasks come first: those that stop because of it, or fail meanwhile."""
        begun = threading.Barrier(3)

        def work(number):
            begun.wait()
            if number < 2:
                while not pool.is_stopped:
                    time.sleep(0.001)
                raise Stopped if number == 0 else ValueError
            raise KeyboardInterrupt

        with closing(ThreadPool(3)) as pool, pytest.raises(KeyboardInterrupt):
            pool.map(work, range(3))

    def test_what_numpy_is_silent_about_is_the_same_in_all_threads(self):
        with np.errstate(divide="ignore"), closing(ThreadPool(3)) as pool:
            assert pool.map(lambda _: np.log(np.zeros(1))[0], range(20)) == [-np.inf] * 20

    def test_threads_of_a_pool_start_no_others(self):
        with closing(ThreadPool(2)) as pool:
            assert all(pool.map(lambda _: OURS.working, range(8)))
        assert not OURS.working


class TestJobs:
    def test_a_number_goes_before_the_limits_of_blas(self):
        with threadpool_limits(1, user_api="blas"):
            assert BLAS.allowed() == 1
            with with_jobs(3):
                assert BLAS.allowed() == 3
                with with_jobs(None):
                    assert BLAS.allowed() == 3
            assert BLAS.allowed() == 1

    def test_minus_one_is_all_cores(self):
        with with_jobs(-1):
            assert BLAS.allowed() == joblib.cpu_count()

    def test_joblib_is_asked(self):
        with joblib.parallel_config(n_jobs=3):
            assert BLAS.allowed() == 3
            with with_jobs(2):
                assert BLAS.allowed() == 2

    def test_at_most_so_many_unless_a_number_is_given(self):
        with threadpool_limits(2, user_api="blas"):
            for most, expected in ((1, 1), (5, 2)):
                with with_jobs(None, most):
                    assert BLAS.allowed() == expected
            with with_jobs(3, 1):
                assert BLAS.allowed() == 3
                with with_jobs(None, 1):
                    assert BLAS.allowed() == 3
            with joblib.parallel_config(n_jobs=4), with_jobs(None, 1):
                assert BLAS.allowed() == 4

    @pytest.mark.parametrize("n_jobs", [0, 1.5, True, "all"])
    def test_what_is_no_number_of_threads_is_refused(self, n_jobs):
        for function in (cw.compare, cw.learning_curve):
            with pytest.raises(cw.ClasswiseError, match=r"n_jobs=.* is not an option; give a number of threads"):
                function(X, y, n_jobs=n_jobs)
        with pytest.raises(cw.ClasswiseError, match="n_jobs="):
            cw.AutoClassifier(n_jobs=n_jobs).fit(X, y)

    def test_as_many_threads_as_asked_work(self):
        for count in (1, 3):
            work = Busy()
            with with_jobs(count):
                in_threads(work, range(30))
            assert work.most == count

    def test_the_number_of_threads_changes_no_result(self):
        one, more = (cw.compare(X, y, only=["lda", "qda", "rda", "logistic"], n_jobs=count) for count in (1, 4))
        assert [trial.name for trial in one.trials] == [trial.name for trial in more.trials]
        for ours, theirs in zip(one.trials, more.trials, strict=True):
            np.testing.assert_array_equal(ours.log_posterior, theirs.log_posterior)
        members = ["own covariances", "softmax", "kernel softmax", "network", "boosted trees", "random trees"]
        first, second = (cw.AutoClassifier(members=members, n_jobs=count).fit(X, y) for count in (1, 4))
        assert first.weights_ == second.weights_
        np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
        curves = [cw.learning_curve(X, y, sizes=[20, 60], repeats=3, n_jobs=count) for count in (1, 4)]
        np.testing.assert_array_equal(curves[0].values, curves[1].values)

    def test_a_pool_that_is_kept_has_as_many(self):
        work = Busy()
        with with_jobs(2), kept_threads():
            in_threads(work, range(20))
        assert work.most == 2
