"""Functions that never return, by name.

Needed where the body is in another file, and where it leaves in a way that looks like a
return: `longjmp` and `_Unwind_Resume` set the stack and jump. Everything else whose body
is at hand is found by `emu.sweep.noreturn`.
"""

import re

# C: declared so in the headers of glibc 2.42 (assert.h, err.h, pthread.h, setjmp.h, stdlib.h,
# threads.h, unistd.h), or called by what GCC makes of them (stack protector, fortification).
# C++: functexcept.h, cxxabi.h, exception of libstdc++ 16; unwind.h of libgcc.
# Linux: tools/objtool/noreturns.h.
NAMES = (
    "_Exit",
    "_Py_FatalErrorFunc",
    "_Unwind_Resume",
    "_Unwind_SjLj_Resume",
    "_ZN10__cxxabiv111__terminateEPFvvE",
    "_ZN10__cxxabiv112__unexpectedEPFvvE",
    "_ZN11__sanitizer11CheckFailedEPKciS1_yy",
    "_ZN11__sanitizer3DieEv",
    "_ZN9__gnu_cxx27__verbose_terminate_handlerEv",
    "_ZNK11__gnu_debug16_Error_formatter8_M_errorEv",
    "_ZNKSt16nested_exception14rethrow_nestedEv",
    "_ZSt10unexpectedv",
    "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
    "_ZSt21__glibcxx_assert_failPKciS0_S0_",
    "_ZSt9terminatev",
    "____longjmp_chk",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_call_unexpected",
    "__cxa_deleted_virtual",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_length",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__fortify_panic",
    "__kunit_abort",
    "__libc_fatal",
    "__libc_longjmp",
    "__libc_siglongjmp",
    "__libc_start_call_main",
    "__libc_start_main",
    "__longjmp",
    "__longjmp_chk",
    "__module_put_and_kthread_exit",
    "__pthread_exit",
    "__pthread_unwind",
    "__pthread_unwind_next",
    "__rust_start_panic",
    "__stack_chk_fail",
    "__stack_chk_fail_local",
    "__stack_smash_handler",
    "__ubsan_handle_builtin_unreachable",
    "__ubsan_handle_missing_return",
    "__x64_sys_exit",
    "__x64_sys_exit_group",
    "_dl_fatal_printf",
    "_dl_signal_error",
    "_dl_signal_exception",
    "_exit",
    "_longjmp",
    "abort",
    "acpi_processor_ffh_play_dead",
    "arch_cpu_idle_dead",
    "cpu_bringup_and_idle",
    "cpu_startup_entry",
    "do_exit",
    "do_group_exit",
    "do_task_dead",
    "err",
    "errx",
    "ex_handler_msr_mce",
    "exit",
    "fortify_panic",
    "hlt_play_dead",
    "hv_ghcb_terminate",
    "kthread_complete_and_exit",
    "kthread_exit",
    "kunit_try_catch_throw",
    "longjmp",
    "machine_real_restart",
    "make_task_dead",
    "mpt_halt_firmware",
    "mwait_play_dead",
    "native_play_dead",
    "nmi_panic_self_stop",
    "panic",
    "panic_smp_self_stop",
    "pthread_exit",
    "quick_exit",
    "rest_init",
    "rewind_stack_and_make_dead",
    "rust_begin_unwind",
    "rust_helper_BUG",
    "rust_panic",
    "sev_es_terminate",
    "siglongjmp",
    "start_kernel",
    "stop_this_cpu",
    "thrd_exit",
    "usercopy_abort",
    "verr",
    "verrx",
    "vpanic",
    "xen_cpu_bringup_again",
    "xen_start_kernel",
)
"""Sorted, without symbol versions."""

PATTERNS = (
    # std::__throw_length_error and its like; in libc++ members of classes, too.
    r"_Z(N[KV]*)?St\w*\d__throw_\w+",
    # Sanitizers, unless they were told to go on (those end in _noabort or in nothing).
    r"__ubsan_handle_\w+_abort",
    r"__asan_report_(exp_)?(load|store)(_n|\d+)",
    # core::panicking and friends (Linux tools/objtool/check.c, is_rust_noreturn), both manglings.
    r"_(R|ZN)\w*4core9panicking(5panic|9panic_fmt|14panic_explicit|14panic_nounwind|18panic_"
    r"bounds_check|18panic_nounwind_fmt|13assert_failed|19assert_failed_inner|11panic_const)\w*",
    r"_(R|ZN)\w*4core(6option|6result)\d+(expect|unwrap)_failed\w*",
    r"_gfortran_(runtime_error(_at)?|os_error(_at)?|(error_)?stop_(numeric|string)|exit_i\d)",
    r"__gnat_rcheck_\w+",
)

_NAMES = frozenset(NAMES)
_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in PATTERNS))


def never_returns(name: str) -> bool:
    """Whether functions of that name, with or without a symbol version, never return."""
    plain = name.split("@", 1)[0]
    return plain in _NAMES or _PATTERN.fullmatch(plain) is not None
